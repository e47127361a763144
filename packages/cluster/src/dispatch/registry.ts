import { ConfigError } from '@sluice/core';
import { hintFor, isCount, isRecord, nearestName, pickGap, tryParseJson } from '@sluice/core/kit';
import type { Redis } from 'ioredis';
import type { RunGaps } from '../run/run.js';

/** A run that workers know of. */
export interface RegisteredRun extends RunGaps {
  readonly name: string;
  /** The id in the run's header: another one with the same name is another run. */
  readonly id: string;
  /** The name by which workers know the source. */
  readonly source: string;
  readonly partitions: number;
  /** Where rows go, as `RunTarget.address` says. It has no secrets. */
  readonly target: string;
  /**
   * - `active`: workers work on it.
   * - `finished`: nothing is left to do, unless partitions have failed.
   * - `cancelled`.
   */
  readonly state: 'active' | 'finished' | 'cancelled';
  /** When that state began, in ms since 1970 by the clock of whoever stored it. */
  readonly since: number;
  /** Partitions that were given up. */
  readonly failed: number;
}

const registryKey = '{sluice:runs}';

/**
 * The runs of a Redis. It may be lost: workers register the runs again that they know, and so does whoever submits a run
 * again. What a run has done is in its target.
 */
export class RunRegistry {
  readonly #redis: Redis;

  constructor(redis: Redis) {
    this.#redis = redis;
  }

  /** All runs, in the order of their states' beginnings. */
  async list(): Promise<readonly RegisteredRun[]> {
    const found = Object.entries(await this.#redis.hgetall(registryKey));
    return found.flatMap(([name, text]) => decodeRun(name, text) ?? []).sort((a, b) => a.since - b.since);
  }

  /** @throws ConfigError if there is none of this name */
  async get(name: string): Promise<RegisteredRun> {
    const { run } = await this.read(name);
    if (run) return run;
    const names = (await this.list()).map((each) => each.name);
    const shown = nearestName(name, names) === undefined ? names.slice(0, 10) : names;
    const known = shown.length > 0 ? hintFor(name, shown) : 'It knows none at all.';
    throw new ConfigError(
      `Redis does not know the run ${JSON.stringify(name)}. ${known} Submit it again, which registers it. On the command line its folder or table does, too.`,
    );
  }

  /** The run of a name, if there is one, and what exactly is stored for it. */
  async read(name: string): Promise<{ readonly run: RegisteredRun | undefined; readonly text: string }> {
    const text = (await this.#redis.hget(registryKey, name)) ?? '';
    return { run: decodeRun(name, text), text };
  }

  /**
   * Stores a run, if its name still has what was read there; nothing is ''. Otherwise a worker that ends a run would undo
   * that somebody has just submitted it again.
   *
   * @returns whether it was stored
   */
  async replace(text: string, run: RegisteredRun): Promise<boolean> {
    return (await this.#redis.eval(replaceScript, 1, registryKey, run.name, text, JSON.stringify(run))) === 1;
  }

  async remove(name: string): Promise<void> {
    await this.#redis.hdel(registryKey, name);
  }
}

const replaceScript = `
if (redis.call('HGET', KEYS[1], ARGV[1]) or '') ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
return 1
`;

const namePattern = /^[\w.-]{1,100}$/;

/** A name is part of keys in Redis, and of what people type. @throws ConfigError */
export function checkRunName(name: string): void {
  if (namePattern.test(name)) return;
  throw new ConfigError(
    `${JSON.stringify(name.slice(0, 120))} can't name a run: use at most 100 letters, digits, dots, hyphens and underscores.`,
    { option: 'name' },
  );
}

/** Others may write to Redis, too: what can't be a run is none. */
function decodeRun(name: string, text: string): RegisteredRun | undefined {
  const value = tryParseJson(text);
  if (!isRecord(value) || value['name'] !== name || !namePattern.test(name)) return undefined;
  const { id, source, partitions, target, state, since, failed, isIncomplete, rowsNotRemoved } = value;
  if (typeof id !== 'string' || typeof source !== 'string' || typeof target !== 'string') return undefined;
  if (!isCount(partitions) || !isCount(since) || !isCount(failed)) return undefined;
  if (state !== 'active' && state !== 'finished' && state !== 'cancelled') return undefined;
  return {
    name,
    id,
    source,
    partitions,
    target,
    state,
    since,
    failed,
    ...(isIncomplete === true && { isIncomplete }),
    ...(isCount(rowsNotRemoved) && { rowsNotRemoved }),
    ...pickGap(value),
  };
}
