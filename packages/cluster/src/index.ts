/**
 * One key, several machines.
 *
 * @packageDocumentation
 */

// The limit
export { redisLimiter, type RedisLimiterOptions } from './limiter/redisLimiter.js';
export { LimiterUnavailableError } from './limiter/limiterUnavailableError.js';

// Runs, and where they are stored
export { runPartition, type PartitionOutcome, type RunPartitionOptions } from './run/runPartition.js';
export { segments } from './run/runFolder.js';
export type { SegmentsOptions } from './run/runStore.js';
export { sourceOfRun } from './run/sourceOfRun.js';
export type {
  Claim,
  CleanOptions,
  OpenSource,
  ProgressHints,
  Run,
  RunHeader,
  RunPlan,
  RunStatus,
  RunTarget,
  SourcePartition,
  StoredRow,
  Verdict,
} from './run/run.js';
