/**
 * One key, several machines.
 *
 * @packageDocumentation
 */

// The limit
export { redisLimiter, type RedisLimiter, type RedisLimiterOptions } from './limiter/redisLimiter.js';
export type { LimitWindow, NamedLimit } from './limiter/namedLimit.js';
export { LimiterUnavailableError } from './limiter/limiterUnavailableError.js';

// Runs that workers work off
export {
  openCluster,
  type Cluster,
  type ClusterOptions,
  type ClusterStatus,
  type Submission,
} from './dispatch/openCluster.js';
export type { WorkEvent, WorkOptions, WorkReport } from './dispatch/work.js';
export type { JobEnd, WorkedPartition } from './dispatch/jobWorker.js';
export type { WorkerOnRun, WorkerPresence } from './dispatch/presence.js';
export type { RegisteredRun } from './dispatch/registry.js';
export type { FailedPartition } from './dispatch/runQueue.js';

// Runs, and where they are stored
export { runPartition, type PartitionOutcome, type RunPartitionOptions } from './run/runPartition.js';
export { segments } from './run/runFolder.js';
export type { SegmentsOptions } from './run/runStore.js';
export { sourceOfRun } from './run/sourceOfRun.js';
export type {
  OpenSource,
  ProgressHints,
  Run,
  RunGaps,
  RunHeader,
  RunPlan,
  RunStatus,
  RunTarget,
  SourcePartition,
  StoredRow,
} from './run/run.js';
