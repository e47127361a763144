import { exportTo, watch, type Change, type ExportOptions, type Source } from '../../../src/index.js';
import { fileSink, fileState, type FileState } from '../../../src/node/index.js';
import { hashOf } from '../../../src/rows/source/fingerprint.js';
import { WatchLog } from '../../../src/rows/watch/watchLog.js';
import type { SimulatedDisk } from '../../node/simulatedDisk.js';
import { newProcess } from '../../node/simulatedExport.js';
import { changeLines, changesIn } from './changeLines.js';
import type { Listing, Row } from './listing.js';
import { SkippingClock } from './skippingClock.js';

/** Where the changes go, and where the state is kept. */
const target = '/data/changes';
const stateFolder = '/data/state';

/** Watches as a process of its own: whatever ran before it is dead. */
export function watchOn(disk: SimulatedDisk, listing: Listing, polls: number): Source<Change<Row>> {
  return watch(listing.source(), { every: 1_000, clock: new SkippingClock(), polls, state: stateOn(disk) });
}

/** Watches into a file, with one state for both. */
export async function exportChangesOn(
  disk: SimulatedDisk,
  listing: Listing,
  polls: number,
  options: Pick<ExportOptions, 'restart'> = {},
): Promise<void> {
  const state = stateOn(disk);
  const changes = watch(listing.source(), { every: 1_000, clock: new SkippingClock(), polls, state });
  const sink = fileSink(changeLines, { path: target, fileSystem: disk, ifExists: 'overwrite' });
  await exportTo(changes, sink, { ...options, state }).run();
}

/** The changes in the file. */
export function changesOn(disk: SimulatedDisk): Change<Row>[] {
  return changesIn(disk.text(target));
}

/** The snapshot that the state on a disk says was accepted. */
export async function acceptedOn(disk: SimulatedDisk): Promise<ReadonlyMap<string, Row>> {
  const log = new WatchLog<Row>(stateOn(disk).log('watch'), { watch: hashOf(['test.listing', null]) });
  await log.open();
  await log.close();
  return new Map(log.snapshot.rows);
}

function stateOn(disk: SimulatedDisk): FileState {
  return fileState(stateFolder, { fileSystem: disk, claims: newProcess() });
}
