import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { type Checkpoint, decodeCheckpoint, type Json, type StateStore } from '@sluice/core';
import { fileState, type LockHolder } from '@sluice/core/node';
import { Failure } from '../../errors/errors.js';
import { namedIn } from '../../target/namedSink.js';

/** An unfinished part of a plan. */
interface OpenPart {
  /** From 1. */
  readonly partition: number;
  readonly pages: number;
  readonly rows: number;
}

/** What a checkpoint says, and what lies around it. It holds no cursor and nothing of the key. */
export interface CheckpointReport {
  /** The checkpoint's own file, or the store that keeps it. */
  readonly checkpoint: string;
  /** A file, or what a plugin's sink writes into. Absent for a webhook, of which a checkpoint knows no address. */
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
  readonly partitions: { readonly total: number; readonly finished: number; readonly open: readonly OpenPart[] };
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
  const isFile =
    target !== undefined && namedIn(checkpoint.sinkPosition) === undefined && !forwardedPlace(checkpoint.sinkPosition);
  const isFinished = checkpoint.finishedAt !== undefined;
  const file = isFile
    ? await (isFinished ? keptFileState(target, checkpoint.sinkPosition) : partFileState(target, checkpoint))
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
    `${path} is not there: no export was interrupted, or nothing had been committed. ${
      isTaken
        ? `An export to ${target} is refused, because the file exists; with --if-exists overwrite it starts from the beginning.`
        : 'An export starts from the beginning.'
    }`,
  );
}

function reportOf(path: string, checkpoint: Checkpoint, file: string | undefined): CheckpointReport {
  const { source, isSealed, finishedAt, rows, pages, sinkPosition } = checkpoint;
  const forwarded = forwardedPlace(sinkPosition);
  const target = namedIn(sinkPosition) ?? file;
  return {
    checkpoint: path,
    ...(target !== undefined && { target }),
    ...(forwarded && { forwarded }),
    ...(finishedAt !== undefined && { finishedAt }),
    ...{ source, isSealed: isSealed ?? false, rows, pages, partitions: partitionsOf(checkpoint) },
  };
}

function partitionsOf({ partitions, position }: Checkpoint): CheckpointReport['partitions'] {
  const open: OpenPart[] = [];
  let finished = position.before;
  for (const [partition, at] of Object.entries(position.begun)) {
    if (at === 'done') finished += 1;
    else open.push({ partition: Number(partition) + 1, pages: at.pages, rows: at.rows });
  }
  return { total: partitions, finished, open };
}

/** A holder as a report names it. */
export function holderOf({ process, liveness }: LockHolder): ReportedHolder {
  return {
    ...(process && { pid: process.pid, host: process.host }),
    ...(liveness !== 'unknown' && { isRunning: true }),
  };
}

/** What the place of a checkpoint says of a webhook. */
export interface ForwardedPlace {
  /** Records that it did not take. */
  readonly deadLetters: number;
}

/** `undefined` if the place is one in a file. */
export function forwardedPlace(sinkPosition: Json | undefined): ForwardedPlace | undefined {
  if (typeof sinkPosition !== 'object' || sinkPosition === null || !('next' in sinkPosition && 'dead' in sinkPosition))
    return undefined;
  const { dead } = sinkPosition;
  return typeof dead === 'number' ? { deadLetters: dead } : undefined;
}

/** The file that rows go into before the target is in place, against what the checkpoint says of it. */
export interface PartFileState {
  readonly path: string;
  /** Absent where the file is not there. */
  readonly bytes?: number;
  /** Up to here the rows are kept. */
  readonly keptBytes: number;
  /** `longer`: what lies behind is cut off. `shorter`, `missing`: damaged. `in-place`: it has the target's name already. */
  readonly fit: 'exact' | 'longer' | 'shorter' | 'missing' | 'in-place';
}

/** How a target's `.part` fits to the place of a checkpoint; `undefined` if the place says nothing of a file. Its content is not read. */
async function partFileState(
  target: string,
  { sinkPosition, isSealed }: { readonly sinkPosition?: Json; readonly isSealed?: true },
): Promise<PartFileState | undefined> {
  const found = await keptFileState(`${target}.part`, sinkPosition);
  if (found?.fit !== 'missing' || isSealed !== true) return found;
  const isInPlace = (await sizeOf(target)) === found.keptBytes;
  return isInPlace ? { ...found, fit: 'in-place' } : found;
}

/** How a file that rows go into right away fits to the place of a checkpoint; `undefined` if the place says nothing of a file. */
export async function keptFileState(path: string, sinkPosition: Json | undefined): Promise<PartFileState | undefined> {
  const keptBytes = bytesOf(sinkPosition);
  if (keptBytes === undefined) return undefined;
  const bytes = await sizeOf(path);
  if (bytes === undefined) return { path, keptBytes, fit: 'missing' };
  return { path, bytes, keptBytes, fit: bytes === keptBytes ? 'exact' : bytes > keptBytes ? 'longer' : 'shorter' };
}

function bytesOf(sinkPosition: unknown): number | undefined {
  if (typeof sinkPosition !== 'object' || sinkPosition === null || !('bytes' in sinkPosition)) return undefined;
  return typeof sinkPosition.bytes === 'number' ? sinkPosition.bytes : undefined;
}

async function sizeOf(path: string): Promise<number | undefined> {
  const found = await stat(path).catch(() => undefined);
  return found?.isFile() ? found.size : undefined;
}

/** Where an export keeps its state, and what it writes. */
export interface StatePlace {
  readonly folder: string;
  /** Absent where the folder does not say it: a program may keep it anywhere. */
  readonly target?: string;
}

/**
 * The state that a path stands for: a target (or its `.part`), the folder of its state, or the checkpoint in it.
 *
 * @example await findState('/data/holdings.csv') // { folder: '/data/holdings.csv.sluice', target: '/data/holdings.csv' }
 */
export async function findState(path: string): Promise<StatePlace> {
  const whole = resolve(path);
  const found = await stat(whole).catch(() => undefined);
  if (found?.isDirectory() || whole.endsWith('.sluice')) return stateIn(whole);
  const parent = dirname(whole);
  if (basename(whole) === 'checkpoint' && (found !== undefined || parent.endsWith('.sluice'))) return stateIn(parent);
  const target = whole.replace(/\.part$/, '');
  return { folder: `${target}.sluice`, target };
}

function stateIn(folder: string): StatePlace {
  return { folder, ...(folder.endsWith('.sluice') && { target: folder.slice(0, -'.sluice'.length) }) };
}
