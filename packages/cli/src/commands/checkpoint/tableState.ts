import type { StateStore } from '@sluice/core';
import { reportOf, storedCheckpoint, type CheckpointReport } from './report.js';
import { committedChanges, type WatchReport } from './watchReport.js';

/**
 * Reads the state that a table keeps beside its rows: that of an export, or of a watch whose rows it mirrors.
 *
 * @throws Failure if there is none; CheckpointError if it can't be read.
 */
export async function readTableState(
  name: string,
  state: Pick<StateStore, 'load'>,
): Promise<CheckpointReport | WatchReport> {
  const checkpoint = await storedCheckpoint(name, state);
  if (!checkpoint.source.endsWith('.changes')) return reportOf(name, checkpoint, name);
  return { log: { table: '_sluice' }, written: { target: name, ...committedChanges(checkpoint) } };
}
