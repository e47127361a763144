export { segments } from './run/runFolder.js';
export { runPartition, type RunPartitionOptions, type PartitionOutcome } from './run/runPartition.js';
export { sourceOfRun } from './run/sourceOfRun.js';
