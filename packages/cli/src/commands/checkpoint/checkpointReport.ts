import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { type Checkpoint, decodeCheckpoint, type Json, type StateStore } from '@sluice/core';
import { fileState, type LockHolder } from '@sluice/core/node';
import { Failure } from '../../errors/errors.js';
import { namedIn } from '../../target/namedSink.js';

/** An unfinished partition of a plan. */
interface OpenPartition {
  /** From 1. */
  readonly partition: number;
  readonly pages: number;
  readonly rows: number;
}

/** The content of a checkpoint and the state of its target. Contains neither cursors nor the key. */
export interface CheckpointReport {
  /** The path of the checkpoint, or the name of its store. */
  readonly checkpoint: string;
  /** A file or a plugin's sink. Absent for a webhook, whose URL is not in a checkpoint. */
  readonly target?: string;
  readonly forwarded?: ForwardedPosition;
  /** E.g. `aptos.nfts`. */
  readonly source: string;
  /** All rows are written; unless finished, only closing the target is left. */
  readonly isSealed: boolean;
  /** ISO 8601; absent if not finished. */
  readonly finishedAt?: string;
  /** The target is brought up to date by each export: the same command begins a new run once this one is finished. */
  readonly isRefreshed?: true;
  /** Committed. */
  readonly rows: number;
  readonly pages: number;
  /** Partitions that are neither finished nor open are not started. */
  readonly partitions: {
    /** Absent if the walk discovers them. */
    readonly total?: number;
    readonly finished: number;
    readonly open: readonly OpenPartition[];
  };
  /** ISO 8601. */
  readonly writtenAt?: string;
  readonly file?: PartFileState;
  /** Somebody has dropped the table that was filled. */
  readonly table?: 'missing';
  readonly holder?: ReportedHolder;
}

/** The process that has locked the state. `isRunning` is absent if that is unknown. */
export interface ReportedHolder {
  readonly pid?: number;
  readonly host?: string;
  readonly isRunning?: true;
}

/**
 * Reads a checkpoint and inspects its target, without changing or locking anything.
 *
 * @throws Failure if there is none; CheckpointError if it can't be read.
 */
export async function readCheckpoint({ folder, target }: StateFolder): Promise<CheckpointReport> {
  const path = join(folder, 'checkpoint');
  const state = fileState(folder);
  const record = await state.load('checkpoint');
  const found = await stat(path).catch(() => undefined);
  if (record === undefined || !found) throw missingCheckpoint(`${path} is not there`, target);
  const checkpoint = decodeCheckpoint(record);
  const isFile =
    target !== undefined &&
    namedIn(checkpoint.sinkPosition) === undefined &&
    !forwardedPosition(checkpoint.sinkPosition);
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

/** Reads the checkpoint in a plugin's store. @throws Failure if there is none; CheckpointError if it can't be read. */
export async function readStoredCheckpoint(name: string, store: Pick<StateStore, 'load'>): Promise<CheckpointReport> {
  return reportOf(name, await storedCheckpoint(name, store), undefined);
}

/** @throws Failure if there is none; CheckpointError if it can't be read. */
export async function storedCheckpoint(name: string, store: Pick<StateStore, 'load'>): Promise<Checkpoint> {
  const record = await store.load('checkpoint');
  if (record === undefined) throw missingCheckpoint(`${name} has no checkpoint`);
  return decodeCheckpoint(record);
}

function missingCheckpoint(what: string, target?: string): Failure {
  const isTaken = target !== undefined && existsSync(target);
  return new Failure(
    `${what}: no export was interrupted, or nothing had been committed. ${
      isTaken
        ? `An export to ${target} is refused, because the file exists; with --if-exists overwrite it starts from the beginning.`
        : 'An export starts from the beginning.'
    }`,
  );
}

export function reportOf(path: string, checkpoint: Checkpoint, file: string | undefined): CheckpointReport {
  const { source, isSealed, finishedAt, savedAt, rows, pages, sinkPosition } = checkpoint;
  const forwarded = forwardedPosition(sinkPosition);
  const target = namedIn(sinkPosition) ?? file;
  return {
    checkpoint: path,
    ...(target !== undefined && { target }),
    ...(forwarded && { forwarded }),
    ...(finishedAt !== undefined && { finishedAt }),
    ...(savedAt !== undefined && { writtenAt: savedAt }),
    ...(isRefreshed(sinkPosition) && { isRefreshed: true as const }),
    source,
    isSealed: isSealed ?? false,
    rows,
    pages,
    partitions: partitionsOf(checkpoint),
  };
}

function partitionsOf({ partitions, position }: Checkpoint): CheckpointReport['partitions'] {
  const open: OpenPartition[] = [];
  let finished = position.before;
  for (const [partition, at] of Object.entries(position.begun)) {
    if (at === 'done') finished += 1;
    else open.push({ partition: Number(partition) + 1, pages: at.pages, rows: at.rows });
  }
  return { ...(partitions !== undefined && { total: partitions }), finished, open };
}

export function holderOf({ process, liveness }: LockHolder): ReportedHolder {
  return {
    ...(process && { pid: process.pid, host: process.host }),
    ...(liveness !== 'unknown' && { isRunning: true }),
  };
}

/** From the sink position of a webhook. */
export interface ForwardedPosition {
  readonly deadLetters: number;
}

/** `undefined` if the sink position is not that of a webhook. */
export function forwardedPosition(sinkPosition: Json | undefined): ForwardedPosition | undefined {
  if (typeof sinkPosition !== 'object' || sinkPosition === null || !('next' in sinkPosition && 'dead' in sinkPosition))
    return undefined;
  const { dead } = sinkPosition;
  return typeof dead === 'number' ? { deadLetters: dead } : undefined;
}

/** Whether the sink position is that of a table in mode `merge` or `replace`. */
function isRefreshed(sinkPosition: Json | undefined): boolean {
  if (typeof sinkPosition !== 'object' || sinkPosition === null || !('mode' in sinkPosition)) return false;
  const { mode } = sinkPosition;
  return mode === 'merge' || mode === 'replace';
}

/** A file compared with its sink position in the checkpoint. */
export interface PartFileState {
  readonly path: string;
  /** Absent if the file is missing. */
  readonly bytes?: number;
  /** The committed size. */
  readonly keptBytes: number;
  /** `longer`: the next run truncates it. `shorter`, `missing`: damaged. `in-place`: already renamed to the target. */
  readonly fit: 'exact' | 'longer' | 'shorter' | 'missing' | 'in-place';
}

/** Compares the size of a target's `.part` file; `undefined` if the sink position is not that of a file. */
async function partFileState(
  target: string,
  { sinkPosition, isSealed }: { readonly sinkPosition?: Json; readonly isSealed?: true },
): Promise<PartFileState | undefined> {
  const found = await keptFileState(`${target}.part`, sinkPosition);
  if (found?.fit !== 'missing' || isSealed !== true) return found;
  const isInPlace = (await sizeOf(target)) === found.keptBytes;
  return isInPlace ? { ...found, fit: 'in-place' } : found;
}

/** Compares the size of a file; `undefined` if the sink position is not that of a file. */
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

export interface StateFolder {
  readonly folder: string;
  /** Absent if the folder's name does not tell: a program may store its state anywhere. */
  readonly target?: string;
}

/**
 * The state for the path of a target (or its `.part`), of its state's folder, or of the checkpoint in it.
 *
 * @example await findState('/data/a.csv') // { folder: '/data/a.csv.sluice', target: '/data/a.csv' }
 */
export async function findState(path: string): Promise<StateFolder> {
  const whole = resolve(path);
  const found = await stat(whole).catch(() => undefined);
  if (found?.isDirectory() || whole.endsWith('.sluice')) return stateIn(whole);
  const parent = dirname(whole);
  if (basename(whole) === 'checkpoint' && (found !== undefined || parent.endsWith('.sluice'))) return stateIn(parent);
  const target = whole.replace(/\.part$/, '');
  return { folder: `${target}.sluice`, target };
}

function stateIn(folder: string): StateFolder {
  return { folder, ...(folder.endsWith('.sluice') && { target: folder.slice(0, -'.sluice'.length) }) };
}
