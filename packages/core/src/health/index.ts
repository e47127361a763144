/**
 * What holds a run up, and how a status is meant: for terminals and pages.
 *
 * @module @sluice/core/health
 */

// Runs
export {
  causeOf,
  healthLevel,
  healthText,
  type Backlog,
  type RunHealth,
  type RunLevel,
  type RunPart,
} from './runHealth.js';
export { RunJudge, type RunJudgeOptions } from './runJudge.js';
export { countEvent, noCounts, type RunCounts } from './runCounts.js';

// Statuses
export { statusHue, statusTone, type StatusTone } from './statusTone.js';
