import { hostname } from 'node:os';
import { isRecord, tryParseJson } from '@sluice/core/kit';
import type { Redis } from 'ioredis';
import type { WorkedPartition } from './jobWorker.js';

/** A worker, as it described itself some seconds ago. */
export interface WorkerPresence {
  /** Random: two workers may have the same host and process id. */
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  /** Ms since 1970. */
  readonly startedAt: number;
  readonly runs: readonly WorkerOnRun[];
  /** The name of the limit that it shares with others. */
  readonly limit?: string;
}

/** The work of a worker on a run. */
export interface WorkerOnRun {
  readonly run: string;
  readonly working: readonly WorkedPartition[];
  /** Rows that the worker fetched, of all its partitions. */
  readonly rows: number;
  /** Why it can't work on the run. */
  readonly unable?: string;
}

const workersKey = '{sluice:workers}';
/** Ms after which a worker that is silent counts as gone. */
const presentFor = 15_000;

function workerKey(id: string): string {
  return `${workersKey}:${id}`;
}

/** Shows a worker to others, for 15 s. */
export async function storePresence(redis: Redis, worker: Omit<WorkerPresence, 'host' | 'pid'>): Promise<void> {
  const presence: WorkerPresence = { ...worker, host: hostname(), pid: process.pid };
  await redis.set(workerKey(worker.id), JSON.stringify(presence), 'PX', presentFor);
  await redis.sadd(workersKey, worker.id);
}

export async function removePresence(redis: Redis, id: string): Promise<void> {
  await redis.del(workerKey(id));
  await redis.srem(workersKey, id);
}

/** All workers that were heard of lately. */
export async function listWorkers(redis: Redis): Promise<readonly WorkerPresence[]> {
  const ids = await redis.smembers(workersKey);
  const texts = ids.length === 0 ? [] : await redis.mget(ids.map(workerKey));
  const gone = ids.filter((_, at) => texts[at] === null);
  if (gone.length > 0) await redis.srem(workersKey, ...gone);
  const found = texts.flatMap((text) => (text === null ? [] : decodePresence(tryParseJson(text))));
  return found.sort((a, b) => a.startedAt - b.startedAt);
}

/** Whoever writes them may be of another version, so each field is checked. */
function decodePresence(value: unknown): WorkerPresence[] {
  if (!isRecord(value)) return [];
  const { id, host, pid, startedAt, runs, limit } = value;
  if (typeof id !== 'string' || typeof host !== 'string' || typeof pid !== 'number' || typeof startedAt !== 'number')
    return [];
  const on = Array.isArray(runs) ? runs.flatMap(decodeOnRun) : [];
  return [{ id, host, pid, startedAt, runs: on, ...(typeof limit === 'string' && { limit }) }];
}

function decodeOnRun(value: unknown): WorkerOnRun[] {
  if (!isRecord(value) || typeof value['run'] !== 'string') return [];
  const { run, working, rows, unable } = value;
  return [
    {
      run,
      rows: typeof rows === 'number' ? rows : 0,
      working: Array.isArray(working) ? working.flatMap(decodeWorked) : [],
      ...(typeof unable === 'string' && { unable }),
    },
  ];
}

function decodeWorked(value: unknown): WorkedPartition[] {
  if (!isRecord(value) || typeof value['partition'] !== 'number' || typeof value['since'] !== 'number') return [];
  return [{ partition: value['partition'], since: value['since'] }];
}
