import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type Checkpoint, decodeCheckpoint } from '@sluice/core';
import { fileState } from '@sluice/core/node';
import { namedIn } from '../../target/namedSink.js';
import {
  forwardedPlace,
  type ForwardedPlace,
  holderOf,
  keptFileState,
  type PartFileState,
  type ReportedHolder,
  type StatePlace,
} from './report.js';

/** What the state of a watch says without being read as a whole: reading its log is for the watch, which may mend it. */
export interface WatchReport {
  /** Where the watch keeps what it knows. */
  readonly log: KnownLog | MissingLog;
  /** Of a watch whose changes go to a file or a webhook. */
  readonly written?: WrittenChanges;
  readonly holder?: ReportedHolder;
}

/** The file that holds what a watch knows. */
interface KnownLog {
  readonly path: string;
  readonly bytes: number;
  readonly writtenAt: string;
}

/** It is not there: lost, if changes of a generation were written; else no poll has succeeded yet. */
interface MissingLog {
  readonly path: string;
  readonly isMissing: true;
}

/** What a watch has written into a file, or a webhook has got. */
interface WrittenChanges {
  readonly target?: string;
  /** Of a webhook. */
  readonly forwarded?: ForwardedPlace;
  readonly source: string;
  readonly changes: number;
  /** The last accepted snapshot whose changes are all in the file. */
  readonly generation: number;
  readonly file?: PartFileState;
}

/**
 * The state of a watch, looked at without changing or locking anything; `undefined` if it is none.
 *
 * @throws CheckpointError if its checkpoint can't be read.
 */
export async function readWatchState({ folder, target }: StatePlace): Promise<WatchReport | undefined> {
  const path = join(folder, 'watch.log');
  const found = await stat(path).catch(() => undefined);
  const state = fileState(folder);
  const record = await state.load('checkpoint');
  const checkpoint = record === undefined ? undefined : decodeCheckpoint(record);
  const isThere = found?.isFile() === true;
  if (!isThere && !checkpoint?.source.endsWith('.changes')) return undefined;
  const holder = await state.holder('watch');
  return {
    log: isThere ? { path, bytes: found.size, writtenAt: found.mtime.toISOString() } : { path, isMissing: true },
    ...(checkpoint && { written: await writtenBy(checkpoint, target) }),
    ...(holder && { holder: holderOf(holder) }),
  };
}

async function writtenBy(checkpoint: Checkpoint, target: string | undefined): Promise<WrittenChanges> {
  const { source, rows: changes, sinkPosition, position } = checkpoint;
  const at = position.begun['0'];
  const cursor = at !== undefined && at !== 'done' && 'cursor' in at.next ? at.next.cursor : '0';
  const forwarded = forwardedPlace(sinkPosition);
  const named = namedIn(sinkPosition);
  const isFile = target !== undefined && named === undefined && !forwarded;
  const file = isFile ? await keptFileState(target, sinkPosition) : undefined;
  const shown = named ?? (isFile ? target : undefined);
  return {
    ...(shown !== undefined && { target: shown }),
    ...(forwarded && { forwarded }),
    ...{ source, changes, generation: Number(cursor) },
    ...(file && { file }),
  };
}
