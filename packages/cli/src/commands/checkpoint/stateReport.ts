import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import type { Json, StateStore } from '@sluice/core';
import { type Checkpoint, decodeCheckpoint } from '@sluice/core/kit';
import { fileState, type LockHolder } from '@sluice/core/node';
import type { TableState } from '@sluice/tables/sqlite';
import { Failure } from '../../errors/errors.js';
import { readField } from '../../source/decodeRecords.js';
import { namedIn } from '../../target/namedSink.js';
import type { OpenedStore } from '../../target/stateStore.js';

/** What the state of an export or a watch says. Contains neither cursors nor the key. */
export type StateReport = CheckpointReport | WatchReport;

/** Where rows or changes go, as far as their checkpoint tells. */
interface ReportedTarget {
  /** A file, a table or a plugin's sink. Absent for a webhook, whose URL is not in a checkpoint. */
  readonly target?: string | undefined;
  /** For a webhook only. */
  readonly forwarded?: ForwardedPosition | undefined;
  readonly file?: PartFileState | undefined;
}

interface ReportedState {
  /** Somebody has dropped the table that was filled. */
  readonly table?: 'missing' | undefined;
  readonly holder?: ReportedHolder | undefined;
}

/** The checkpoint of an export. Times are in ISO 8601. */
export interface CheckpointReport extends ReportedTarget, ReportedState, Pick<Checkpoint, 'source' | 'rows' | 'pages'> {
  /** The path of the checkpoint, or the name of its store. */
  readonly checkpoint: string;
  readonly madeWith?: Checkpoint['madeWith'];
  /** All rows are written; unless finished, only closing the target is left. */
  readonly isSealed: boolean;
  readonly finishedAt?: string | undefined;
  /** The target is brought up to date by each export: the same command begins a new run once this one is finished. */
  readonly isRefreshed?: true | undefined;
  /** Partitions that are neither finished nor open are not started. */
  readonly partitions: {
    /** Absent if the walk discovers them. */
    readonly total?: number | undefined;
    readonly finished: number;
    readonly open: readonly OpenPartition[];
  };
  readonly writtenAt?: string | undefined;
}

/** An unfinished partition of a plan. */
interface OpenPartition {
  /** From 1. */
  readonly partition: number;
  readonly pages: number;
  readonly rows: number;
}

/** The state of a watch, without the content of its log, which only the watch itself reads and repairs. */
export interface WatchReport extends ReportedState {
  /**
   * Where the watch's snapshot is. A missing file is lost if changes were already written; otherwise no poll has
   * succeeded yet.
   */
  readonly log:
    | { readonly path: string; readonly bytes: number; readonly writtenAt: string }
    | { readonly path: string; readonly isMissing: true }
    | { readonly table: string }
    | { readonly store: string };
  /** What it has committed to its target. Absent if there is no checkpoint, e.g. for stdout. */
  readonly written?: WrittenChanges | undefined;
}

interface WrittenChanges extends ReportedTarget {
  readonly source: string;
  readonly madeWith?: Checkpoint['madeWith'];
  readonly changes: number;
  /** The last snapshot whose changes are all committed. */
  readonly generation: number;
}

/** The process that has locked the state. `isRunning` is absent if that is unknown. */
export interface ReportedHolder {
  readonly pid?: number | undefined;
  readonly host?: string | undefined;
  readonly isRunning?: true | undefined;
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

/** From the sink position of a webhook. */
export interface ForwardedPosition {
  readonly deadLetters: number;
}

/**
 * Reads the state in a folder and inspects its target, without changing or locking anything.
 *
 * @throws Failure if there is none; CheckpointError if it can't be read.
 */
export async function reportFolder({ folder, target }: StateFolder): Promise<StateReport> {
  const state = fileState(folder);
  const checkpoint = await loadCheckpoint(state);
  const path = join(folder, 'watch.log');
  const log = await stat(path).catch(() => undefined);
  if (log?.isFile() || (checkpoint && isWatch(checkpoint)))
    return {
      log: log?.isFile() ? { path, bytes: log.size, writtenAt: log.mtime.toISOString() } : { path, isMissing: true },
      written: checkpoint && { ...(await inspectTarget(checkpoint, target)), ...countChanges(checkpoint) },
      holder: describeHolder(await state.holder('watch')),
    };
  const name = join(folder, 'checkpoint');
  if (!checkpoint) throw missingCheckpoint(`${name} is not there`, target);
  return {
    ...reportExport(name, checkpoint),
    ...(await inspectTarget(checkpoint, target)),
    holder: describeHolder(await state.holder()),
  };
}

/** The same for a table, which keeps its own checkpoints. */
export async function reportTable(target: string, state: TableState): Promise<StateReport> {
  const checkpoint = await loadStored(target, state);
  const { isThere, holder } = await state.look();
  if (!isWatch(checkpoint)) {
    const table = !isThere && checkpoint.finishedAt !== undefined ? 'missing' : undefined;
    return { ...reportExport(target, checkpoint), target, table, holder };
  }
  // An export creates its table when it ends, and a watch with its first poll.
  const written = { target, ...countChanges(checkpoint) };
  const table = !isThere && written.generation > 0 ? 'missing' : undefined;
  return { log: { table: '_sluice' }, written, table, holder };
}

/** The same for a state that is not in a folder. */
export async function reportStore(name: string, store: OpenedStore): Promise<StateReport> {
  const checkpoint = await loadStored(name, store);
  const target = await inspectTarget(checkpoint, undefined);
  const holder = await store.holder?.();
  if (!isWatch(checkpoint)) return { ...reportExport(name, checkpoint), ...target, holder };
  return { log: { store: name }, written: { ...target, ...countChanges(checkpoint) }, holder };
}

async function loadStored(name: string, store: Pick<StateStore, 'load'>): Promise<Checkpoint> {
  const checkpoint = await loadCheckpoint(store);
  if (checkpoint) return checkpoint;
  throw missingCheckpoint(`${name} has no checkpoint`);
}

async function loadCheckpoint(store: Pick<StateStore, 'load'>): Promise<Checkpoint | undefined> {
  const record = await store.load('checkpoint');
  return record === undefined ? undefined : decodeCheckpoint(record);
}

function isWatch({ source }: Checkpoint): boolean {
  return source.endsWith('.changes');
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

function reportExport(name: string, checkpoint: Checkpoint): CheckpointReport {
  const { source, madeWith, isSealed = false, finishedAt, rows, pages, position } = checkpoint;
  const mode = readField(checkpoint.sinkPosition, 'mode');
  const open = Object.entries(position.begun).map(([partition, at]): OpenPartition => ({
    partition: Number(partition) + 1,
    pages: at.pages,
    rows: at.rows,
  }));
  const finishedAhead = (position.done ?? []).reduce((sum, [first, last]) => sum + last - first + 1, 0);
  return {
    checkpoint: name,
    source,
    madeWith,
    isSealed,
    finishedAt,
    // A table in one of these modes.
    isRefreshed: mode === 'merge' || mode === 'replace' || mode === 'history' || undefined,
    rows,
    pages,
    partitions: { total: checkpoint.partitions, finished: position.before + finishedAhead, open },
    writtenAt: checkpoint.savedAt,
  };
}

/** How many changes a checkpoint counts, and up to which snapshot. */
function countChanges({ source, madeWith, rows: changes, position }: Checkpoint): WrittenChanges {
  const at = position.begun['0'];
  const cursor = at !== undefined && 'cursor' in at.next ? at.next.cursor : '0';
  return { source, madeWith, changes, generation: Number(cursor) };
}

function describeHolder(holder: LockHolder | undefined): ReportedHolder | undefined {
  if (!holder) return undefined;
  const { process, liveness } = holder;
  return { pid: process?.pid, host: process?.host, isRunning: liveness === 'unknown' ? undefined : true };
}

/** @param file the file beside the state, if the target is one. */
async function inspectTarget(checkpoint: Checkpoint, file: string | undefined): Promise<ReportedTarget> {
  const { sinkPosition, finishedAt, isSealed } = checkpoint;
  const forwarded = forwardedPosition(sinkPosition);
  const named = namedIn(sinkPosition);
  if (forwarded || named !== undefined || file === undefined) return { target: named, forwarded };
  if (isWatch(checkpoint) || finishedAt !== undefined)
    return { target: file, file: await compareFile(file, sinkPosition) };
  const part = await compareFile(`${file}.part`, sinkPosition);
  const isInPlace = isSealed && part?.fit === 'missing' && (await measureFile(file)) === part.keptBytes;
  return { target: file, file: isInPlace ? { ...part, fit: 'in-place' } : part };
}

/** `undefined` if the sink position is not that of a webhook. */
export function forwardedPosition(sinkPosition: Json | undefined): ForwardedPosition | undefined {
  const dead = readField(sinkPosition, 'dead');
  // Versions that committed what was delivered had one number.
  const settled = readField(sinkPosition, 'settled') ?? readField(sinkPosition, 'next');
  return typeof dead === 'number' && settled !== undefined ? { deadLetters: dead } : undefined;
}

/** Compares the size of a file; `undefined` if the sink position is not that of a file. */
async function compareFile(path: string, sinkPosition: Json | undefined): Promise<PartFileState | undefined> {
  const keptBytes = readField(sinkPosition, 'bytes');
  if (typeof keptBytes !== 'number') return undefined;
  const bytes = await measureFile(path);
  if (bytes === undefined) return { path, keptBytes, fit: 'missing' };
  return { path, bytes, keptBytes, fit: bytes === keptBytes ? 'exact' : bytes > keptBytes ? 'longer' : 'shorter' };
}

async function measureFile(path: string): Promise<number | undefined> {
  const found = await stat(path).catch(() => undefined);
  return found?.isFile() ? found.size : undefined;
}

export interface StateFolder {
  readonly folder: string;
  /** Absent if the folder's name does not tell: a program may store its state anywhere. */
  readonly target?: string | undefined;
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
  return { folder, target: folder.endsWith('.sluice') ? folder.slice(0, -'.sluice'.length) : undefined };
}
