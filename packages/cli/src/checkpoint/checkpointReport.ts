import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { decodeCheckpoint, type Checkpoint } from '@sluice/core';
import { fileState, type LockHolder } from '@sluice/core/node';
import { Failure } from '../faults/failure.js';
import { forwardedPlace, type ForwardedPlace } from './forwardedPlace.js';
import { partFileState, type PartFileState } from './partFile.js';
import type { StatePlace } from './stateFolder.js';

/** An unfinished part of a plan. */
export interface OpenPart {
  /** From 1. */
  readonly part: number;
  readonly pages: number;
  readonly rows: number;
}

/** What a checkpoint says, and what lies around it. It holds no cursor and nothing of the key. */
export interface CheckpointReport {
  /** The checkpoint's own file. */
  readonly checkpoint: string;
  /** Absent for an endpoint, of which a checkpoint knows no address. */
  readonly target?: string;
  readonly forwarded?: ForwardedPlace;
  /** What is exported, e.g. `aptos.walletNfts`. */
  readonly source: string;
  /** Everything is written; only putting the file in place is left. */
  readonly isSealed: boolean;
  /** Kept. */
  readonly rows: number;
  readonly pages: number;
  /** Of the plan; those that are neither finished nor open were not begun. */
  readonly parts: { readonly total: number; readonly finished: number; readonly open: readonly OpenPart[] };
  /** ISO 8601. */
  readonly writtenAt: string;
  readonly file?: PartFileState;
  readonly holder?: ReportedHolder;
}

/** Who works with it now. `isRunning` is absent where nothing can be said of that. */
export interface ReportedHolder {
  readonly pid?: number;
  readonly host?: string;
  readonly isRunning?: true;
}

/**
 * Reads a checkpoint and looks around it, without changing or locking anything.
 *
 * @throws Failure if there is none; CheckpointError if it can't be read.
 */
export async function readCheckpoint({ folder, target }: StatePlace): Promise<CheckpointReport> {
  const path = join(folder, 'checkpoint');
  const state = fileState(folder);
  const record = await state.load('checkpoint');
  const found = await stat(path).catch(() => undefined);
  if (record === undefined || !found) {
    throw new Failure(
      `${path} is not there: nothing was interrupted, or nothing was committed by then. An export begins from the start.`,
    );
  }
  const checkpoint = decodeCheckpoint(record);
  const { source, isSealed, rows, pages, place } = checkpoint;
  const forwarded = forwardedPlace(place);
  const file = target === undefined || forwarded ? undefined : await partFileState(target, checkpoint);
  const holder = await state.holder();
  return {
    checkpoint: path,
    ...(target !== undefined && !forwarded && { target }),
    ...(forwarded && { forwarded }),
    ...{ source, isSealed: isSealed ?? false, rows, pages, parts: partsOf(checkpoint) },
    writtenAt: found.mtime.toISOString(),
    ...(file && { file }),
    ...(holder && { holder: holderOf(holder) }),
  };
}

function partsOf({ parts, position }: Checkpoint): CheckpointReport['parts'] {
  const open: OpenPart[] = [];
  let finished = position.before;
  for (const [part, at] of Object.entries(position.begun)) {
    if (at === 'done') finished += 1;
    else open.push({ part: Number(part) + 1, pages: at.pages, rows: at.rows });
  }
  return { total: parts, finished, open };
}

/** A holder as a report names it. */
export function holderOf({ process, liveness }: LockHolder): ReportedHolder {
  return {
    ...(process && { pid: process.pid, host: process.host }),
    ...(liveness !== 'unknown' && { isRunning: true }),
  };
}
