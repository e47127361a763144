/**
 * What holds a run up, and how a status is meant: for terminals and pages.
 *
 * @module @sluice/core/health
 */

// Events
export {
  causeOf,
  healthLevel,
  healthText,
  RunJudge,
  type Backlog,
  type RunJudgeOptions,
  type RunHealth,
  type RunLevel,
  type RunPart,
} from './runHealth.js';
export { statusHue, statusTone, type StatusTone } from './statusTone.js';
