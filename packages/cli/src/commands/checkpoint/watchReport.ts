import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type Checkpoint, decodeCheckpoint } from '@sluice/core';
import { fileState } from '@sluice/core/node';
import { namedIn } from '../../target/namedSink.js';
import {
  forwardedPosition,
  type ForwardedPosition,
  holderOf,
  keptFileState,
  type PartFileState,
  type ReportedHolder,
  type StateFolder,
} from './checkpointReport.js';

/** The state of a watch, without the content of its log, which only the watch itself reads and repairs. */
export interface WatchReport {
  /** The file with the watch's snapshot. */
  readonly log: KnownLog | MissingLog | StoredLog;
  /** Absent if there is no checkpoint, e.g. for stdout. */
  readonly written?: WrittenChanges;
  /** Somebody has dropped the table that was filled. */
  readonly table?: 'missing';
  readonly holder?: ReportedHolder;
}

/** Whether the checkpoint is that of a watch. */
export function isWatch({ source }: Checkpoint): boolean {
  return source.endsWith('.changes');
}

interface KnownLog {
  readonly path: string;
  readonly bytes: number;
  readonly writtenAt: string;
}

/** Lost if changes were already written; otherwise no poll has succeeded yet. */
interface MissingLog {
  readonly path: string;
  readonly isMissing: true;
}

/** In a table of its target's database. */
interface StoredLog {
  readonly table: string;
}

/** What a watch has committed to its target. */
interface WrittenChanges {
  readonly target?: string;
  /** For a webhook only. */
  readonly forwarded?: ForwardedPosition;
  readonly source: string;
  readonly changes: number;
  /** The last snapshot whose changes are all committed. */
  readonly generation: number;
  readonly file?: PartFileState;
}

/**
 * Reads the state of a watch, without changing or locking anything; `undefined` if it is the state of something else.
 *
 * @throws CheckpointError if its checkpoint can't be read.
 */
export async function readWatchState({ folder, target }: StateFolder): Promise<WatchReport | undefined> {
  const path = join(folder, 'watch.log');
  const found = await stat(path).catch(() => undefined);
  const state = fileState(folder);
  const record = await state.load('checkpoint');
  const checkpoint = record === undefined ? undefined : decodeCheckpoint(record);
  const isThere = found?.isFile() === true;
  if (!isThere && !(checkpoint && isWatch(checkpoint))) return undefined;
  const holder = await state.holder('watch');
  return {
    log: isThere ? { path, bytes: found.size, writtenAt: found.mtime.toISOString() } : { path, isMissing: true },
    ...(checkpoint && { written: await writtenBy(checkpoint, target) }),
    ...(holder && { holder: holderOf(holder) }),
  };
}

async function writtenBy(checkpoint: Checkpoint, target: string | undefined): Promise<WrittenChanges> {
  const { sinkPosition } = checkpoint;
  const forwarded = forwardedPosition(sinkPosition);
  const named = namedIn(sinkPosition);
  const isFile = target !== undefined && named === undefined && !forwarded;
  const file = isFile ? await keptFileState(target, sinkPosition) : undefined;
  const shown = named ?? (isFile ? target : undefined);
  return {
    ...(shown !== undefined && { target: shown }),
    ...(forwarded && { forwarded }),
    ...committedChanges(checkpoint),
    ...(file && { file }),
  };
}

/** How many changes a checkpoint counts, and up to which snapshot. */
export function committedChanges({
  source,
  rows: changes,
  position,
}: Checkpoint): Pick<WrittenChanges, 'source' | 'changes' | 'generation'> {
  const at = position.begun['0'];
  const cursor = at !== undefined && at !== 'done' && 'cursor' in at.next ? at.next.cursor : '0';
  return { source, changes, generation: Number(cursor) };
}
