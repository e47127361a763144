import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { decodeCheckpoint, type Checkpoint, type StateStore } from '@sluice/core';
import { fileState, type LockHolder } from '@sluice/core/node';
import { Failure } from '../faults/failure.js';
import { targetOf } from '../target/namedPlace.js';
import { forwardedPlace, type ForwardedPlace } from './forwardedPlace.js';
import { keptFileState, partFileState, type PartFileState } from './partFile.js';
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
  /** The checkpoint's own file, or the store that keeps it. */
  readonly checkpoint: string;
  /** A file, or what a plugin's sink writes into. Absent for an endpoint, of which a checkpoint knows no address. */
  readonly target?: string;
  readonly forwarded?: ForwardedPlace;
  /** What is exported, e.g. `aptos.walletNfts`. */
  readonly source: string;
  /** Everything is written; only putting the file in place, or closing what else it is, is left, unless it is finished. */
  readonly isSealed: boolean;
  /** The export is through since then (ISO 8601). */
  readonly finishedAt?: string;
  /** Kept. */
  readonly rows: number;
  readonly pages: number;
  /** Of the plan; those that are neither finished nor open were not begun. */
  readonly parts: { readonly total: number; readonly finished: number; readonly open: readonly OpenPart[] };
  /** ISO 8601; absent where the state is in a store of a plugin's. */
  readonly writtenAt?: string;
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
  if (record === undefined || !found) throw nothingIn(path, target);
  const checkpoint = decodeCheckpoint(record);
  const isFile = target !== undefined && targetOf(checkpoint.place) === undefined && !forwardedPlace(checkpoint.place);
  const isFinished = checkpoint.finishedAt !== undefined;
  const file = isFile
    ? await (isFinished ? keptFileState(target, checkpoint.place) : partFileState(target, checkpoint))
    : undefined;
  const holder = await state.holder();
  return {
    ...reportOf(path, checkpoint, isFile ? target : undefined),
    writtenAt: found.mtime.toISOString(),
    ...(file && { file }),
    ...(holder && { holder: holderOf(holder) }),
  };
}

/**
 * Reads the checkpoint in a store of a plugin's.
 *
 * @param name what the store is called.
 * @throws Failure if there is none; CheckpointError if it can't be read.
 */
export async function readStoredCheckpoint(name: string, store: Pick<StateStore, 'load'>): Promise<CheckpointReport> {
  const record = await store.load('checkpoint');
  if (record === undefined) throw nothingIn(name);
  return reportOf(name, decodeCheckpoint(record), undefined);
}

function nothingIn(path: string, target?: string): Failure {
  const isTaken = target !== undefined && existsSync(target);
  return new Failure(
    `${path} is not there: nothing was interrupted, or nothing was committed by then. ${
      isTaken
        ? `An export to ${target} is refused, since that is there already; with --if-exists overwrite it begins from the start.`
        : 'An export begins from the start.'
    }`,
  );
}

function reportOf(path: string, checkpoint: Checkpoint, file: string | undefined): CheckpointReport {
  const { source, isSealed, finishedAt, rows, pages, place } = checkpoint;
  const forwarded = forwardedPlace(place);
  const target = targetOf(place) ?? file;
  return {
    checkpoint: path,
    ...(target !== undefined && { target }),
    ...(forwarded && { forwarded }),
    ...(finishedAt !== undefined && { finishedAt }),
    ...{ source, isSealed: isSealed ?? false, rows, pages, parts: partsOf(checkpoint) },
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
