import type { Clock } from '../clock.js';
import { CheckpointError, ConfigError, SluiceError } from '../errors.js';
import type { Ticks } from '../operators/ticks.js';
import { walkOnce } from '../operators/walkOnce.js';
import type { Position } from '../position.js';
import { isCount } from '../record.js';
import type { Release } from '../sink/lockQueue.js';
import type { StateLog, StateStore } from '../sink/stateStore.js';
import type { Page, PageHealth } from '../source/page.js';
import type { PageSource } from '../source/pageSource.js';
import { done } from '../source/stoppable.js';
import { changesOf, type Delta } from './acceptedSnapshot.js';
import type { Change } from './change.js';
import type { FieldsBetween } from './comparison.js';
import { SnapshotRows } from './snapshotRows.js';
import { judge, type RemovalRules } from './verdict.js';
import { WalkComparison, type Findings } from './walkComparison.js';
import { WatchLog, type WatchIdentity } from './watchLog.js';

/** A watch's options, checked and complete. */
export interface WatchSettings<T> {
  readonly key: (row: T) => string;
  readonly fields: FieldsBetween<T>;
  readonly rules: RemovalRules;
  readonly identity: WatchIdentity;
  /** Without it each run begins anew. */
  readonly state: StateStore | undefined;
  readonly maxFailures: number;
  readonly polls: number;
  readonly lanes: number;
  readonly clock: Clock;
  readonly newTicks: () => Ticks;
  readonly onHealth: ((health: PageHealth) => void) | undefined;
}

/** The most ticks that are skipped after a failure, since an API that is down is not helped by being asked. */
const mostSkipped = 7;

/** One run of a watch: gives out again what was staged, then polls, compares, stages and gives out. */
export class WatchRun<T> {
  readonly #source: PageSource<T>;
  readonly #settings: WatchSettings<T>;
  readonly #startAt: number | undefined;
  readonly #ticks: Ticks;
  #release: Release | undefined;
  #log: WatchLog<T> | undefined;
  /** Staged by an earlier run, and not yet given out by this one. */
  #staged: readonly Delta<T>[] = [];
  /** The generation that was given out last: whoever asks for more has it. */
  #given = 0;
  #polls = 0;
  #pages = 0;
  #failures = 0;
  #current: Promise<unknown> = Promise.resolve();

  constructor(source: PageSource<T>, settings: WatchSettings<T>, startAt: number | undefined) {
    this.#source = source;
    this.#settings = settings;
    this.#startAt = startAt;
    this.#ticks = settings.newTicks();
  }

  next(signal: AbortSignal): Promise<IteratorResult<Page<Change<T>>, undefined>> {
    const step = this.#advance(signal);
    this.#current = step.catch(() => undefined);
    return step;
  }

  /** Closes what is open, once the step under way has let go of it. */
  async end(): Promise<void> {
    await this.#current;
    await this.#log?.close();
    await this.#release?.();
  }

  async #advance(signal: AbortSignal): Promise<IteratorResult<Page<Change<T>>, undefined>> {
    const log = this.#log ?? (await this.#open(signal));
    await log.commit(this.#given);
    const [staged, ...later] = this.#staged;
    if (staged) {
      this.#staged = later;
      return this.#page(staged, { outcome: 'replayed', ...(staged.generation === 1 && { isSynced: true }) });
    }
    if (this.#polls >= this.#settings.polls) return done;
    const skipped = this.#failures === 0 ? 0 : Math.min(2 ** (this.#failures - 1) - 1, mostSkipped);
    await this.#ticks.next(signal, skipped);
    this.#polls += 1;
    return this.#poll(log, signal);
  }

  async #open(signal: AbortSignal): Promise<WatchLog<T>> {
    const { state, identity } = this.#settings;
    this.#release = await state?.lock(signal, 'watch');
    const log = new WatchLog<T>(state?.log('watch') ?? forgetful, identity);
    this.#log = log;
    await log.open();
    if (this.#startAt !== undefined) {
      if (this.#startAt < log.committed || this.#startAt > log.snapshot.generation) {
        throw new CheckpointError(
          `The watch's state is of another time than the place to go on from (generation ${this.#startAt}; it holds ${log.committed} to ${log.snapshot.generation}). Use the state that belongs to it, or start over with restart: nothing was changed.`,
        );
      }
      await log.commit(this.#startAt);
    }
    this.#staged = [...log.uncommitted];
    return log;
  }

  async #poll(log: WatchLog<T>, signal: AbortSignal): Promise<IteratorResult<Page<Change<T>>, undefined>> {
    const { snapshot } = log;
    const { clock, rules } = this.#settings;
    const isFirst = snapshot.generation === 0;
    let walked: SnapshotRows<T> | Findings<T>;
    try {
      walked = isFirst ? await this.#gather(rules.confirmations, signal) : await this.#compare(snapshot.rows, signal);
    } catch (error) {
      return this.#failed(error, signal);
    }
    const recovered = this.#failures > 0 && ({ isRecovered: true } as const);
    this.#failures = 0;
    const now = clock.now();
    const observedAt = new Date(now).toISOString();
    if (walked instanceof SnapshotRows) {
      await log.begin(walked, observedAt);
      const [first] = log.uncommitted;
      return this.#page(first, { outcome: 'polled', isSynced: true, ...recovered });
    }
    const { differences, missing, held } = judge(walked, snapshot.missing, { rules, now });
    const health = { outcome: 'polled', ...recovered, ...(held > 0 && { held }) } as const;
    const hasChanged = differences.length > 0;
    if (!hasChanged && snapshot.missing.size === 0 && missing.size === 0) return this.#page(undefined, health);
    const generation = snapshot.generation + (hasChanged ? 1 : 0);
    const delta: Delta<T> = { generation, observedAt, differences, missing };
    await log.stage(delta);
    return this.#page(hasChanged ? delta : undefined, health);
  }

  /** All rows of some complete walks: a row that one of them missed is there all the same. */
  async #gather(walks: number, signal: AbortSignal): Promise<SnapshotRows<T>> {
    const rows = new SnapshotRows<T>();
    for (let nth = 0; nth < walks; nth += 1) await this.#walk((key, row) => rows.set(key, row), signal);
    return rows;
  }

  async #compare(rows: SnapshotRows<T>, signal: AbortSignal): Promise<Findings<T>> {
    const walk = new WalkComparison(rows, this.#settings.fields);
    await this.#walk((key, row) => walk.add(key, row), signal);
    return walk.end();
  }

  async #walk(take: (key: string, row: T) => void, signal: AbortSignal): Promise<void> {
    const { key, lanes } = this.#settings;
    await walkOnce(this.#source, { lanes, signal }, (row) => take(checkKey(key(row)), row));
  }

  #failed(error: unknown, signal: AbortSignal): IteratorResult<Page<Change<T>>, undefined> {
    signal.throwIfAborted();
    this.#failures += 1;
    if (this.#failures > this.#settings.maxFailures || isFatal(error, this.#polls === 1)) throw error;
    return this.#page(undefined, { outcome: 'failed', failures: this.#failures, error });
  }

  #page(
    delta: Delta<T> | undefined,
    health: Omit<PageHealth, 'rows' | 'generation'>,
  ): IteratorResult<Page<Change<T>>, undefined> {
    const { generation = 0, rows } = this.#log?.snapshot ?? {};
    const whole: PageHealth = { ...health, rows: rows?.size ?? 0, generation: delta?.generation ?? generation };
    if (delta) this.#given = delta.generation;
    const index = this.#pages;
    this.#pages += 1;
    this.#settings.onHealth?.(whole);
    return {
      done: false,
      value: {
        items: delta ? changesOf(delta, this.#log?.history ?? '') : [],
        position: positionAt(this.#given || (this.#log?.committed ?? 0), this.#pages),
        ...{ index, part: 0, endsPart: false, health: whole },
        // Whoever keeps it has it for good before the next poll.
        ...(delta && { commit: true }),
      },
    };
  }
}

/** A memory that nobody will look into again: the run keeps what it needs. */
const forgetful: StateLog = {
  bytes: 0,
  async *read() {
    yield* [];
  },
  append: () => Promise.resolve(),
  replace: () => Promise.resolve(),
  remove: () => Promise.resolve(),
  close: () => Promise.resolve(),
};

/** A key also names its row in the state, so it has to come back from there as it was. */
function checkKey(key: unknown): string {
  if (typeof key === 'string') return key;
  throw new ConfigError(`key gave ${String(key)} for a row: it must be text that tells the row from all others.`, {
    option: 'key',
  });
}

/** A generation as a position: it goes on behind it. */
function positionAt(generation: number, pages: number): Position {
  return { before: 0, begun: { '0': { next: { cursor: String(generation) }, pages, rows: 0 } }, rows: 0, pages };
}

/** The generation that a position names; `undefined` at the start. @throws ConfigError if it is no position of a watch. */
export function generationAt({ before, begun }: Position): number | undefined {
  const first = begun['0'];
  if (before === 0 && first === undefined) return undefined;
  const generation =
    first && first !== 'done' && 'cursor' in first.next && /^\d+$/.test(first.next.cursor)
      ? Number(first.next.cursor)
      : undefined;
  if (isCount(generation)) return generation;
  throw new ConfigError('startAt is no position of a watch. Give one that a page of it had.', { option: 'startAt' });
}

/** What will not be better next time. Right at the beginning, that includes a request which the API does not take. */
function isFatal(error: unknown, isFirst: boolean): boolean {
  if (!SluiceError.is(error)) return true;
  if (['config', 'checkpoint', 'lock', 'plugin', 'sink'].includes(error.code)) return true;
  return isFirst && error.code === 'http' && [400, 401, 403].includes(Number(error.details['status']));
}
