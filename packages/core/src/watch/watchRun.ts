import type { Clock } from '../clock.js';
import { CheckpointError, ConfigError, DecodeError, SluiceError } from '../errors.js';
import { skippedTicks, type Ticks } from '../operators/ticks.js';
import { walkOnce } from '../operators/walkOnce.js';
import type { Position } from '../position.js';
import { isCount } from '../values.js';
import type { Release } from '../sink/lockQueue.js';
import type { StateLog, StateStore } from '../sink/stateStore.js';
import type { Page, PageHealth } from '../source/page.js';
import type { PageSource } from '../source/pageSource.js';
import { done } from '../source/cancellable.js';
import { changesOf, type Delta } from './acceptedSnapshot.js';
import type { Change } from './change.js';
import { checkStorable } from './checkStorable.js';
import type { FieldsBetween } from './rowComparison.js';
import { rowKey, SnapshotRows } from './snapshotRows.js';
import { judge, type RemovalRules } from './verdict.js';
import { WalkComparison, type Findings } from './walkComparison.js';
import { WatchLog, type WatchIdentity } from './watchLog.js';

export interface WatchSettings<T> {
  readonly key: (row: T) => unknown;
  readonly fields: FieldsBetween<T>;
  readonly rules: RemovalRules;
  readonly identity: WatchIdentity;
  /** Without it each run begins anew. */
  readonly state: StateStore | undefined;
  readonly maxFailures: number;
  readonly retryFor: number;
  readonly polls: number;
  readonly concurrency: number;
  readonly clock: Clock;
  readonly every: number;
  readonly newTicks: () => Ticks;
  readonly onHealth: ((health: PageHealth) => void) | undefined;
  readonly newId: (() => string) | undefined;
}

interface WatchStart {
  /** The generation that it goes on behind; absent at the start. */
  readonly startAt: number | undefined;
  readonly newHistory: string | undefined;
}

/** What one poll has walked: all rows of the first one, then how they differ. */
interface Walked<T> {
  readonly found: SnapshotRows<T> | Findings<T>;
  readonly repeated: number;
  readonly isShort: boolean;
}

/** One run of a watch: gives out again what was staged, then polls, compares, stages and gives out. */
export class WatchRun<T> {
  readonly #source: PageSource<T>;
  readonly #settings: WatchSettings<T>;
  readonly #start: WatchStart;
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
  /** When the first of them began, by the monotonic clock. */
  #failingSince: number | undefined;
  #current: Promise<unknown> = Promise.resolve();

  constructor(source: PageSource<T>, settings: WatchSettings<T>, start: WatchStart) {
    this.#source = source;
    this.#settings = settings;
    this.#start = start;
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
    await this.#ticks.next(signal, skippedTicks(this.#failures, this.#settings.every));
    this.#polls += 1;
    return this.#poll(log, signal);
  }

  async #open(signal: AbortSignal): Promise<WatchLog<T>> {
    const { state, identity, newId } = this.#settings;
    const { startAt, newHistory } = this.#start;
    this.#release = await state?.lock(signal, 'watch');
    const log = new WatchLog<T>(state?.log('watch') ?? forgetful, identity, newId);
    this.#log = log;
    // Whoever has a generation of a history goes on with it.
    await log.open(startAt ? undefined : newHistory);
    this.#checkKeys(log.snapshot.rows);
    if (startAt !== undefined) {
      const isOther = newHistory !== undefined && log.history !== newHistory;
      if (isOther || startAt < log.committed || startAt > log.snapshot.generation)
        throw new CheckpointError(
          `The watch's state is of another time than the place to go on from (generation ${startAt}; it holds ${log.committed} to ${log.snapshot.generation}). Is it the state that belongs to the target?`,
          {},
          [{ kind: 'restart' }],
        );
      await log.commit(startAt);
    }
    this.#staged = [...log.uncommitted];
    return log;
  }

  async #poll(log: WatchLog<T>, signal: AbortSignal): Promise<IteratorResult<Page<Change<T>>, undefined>> {
    const { snapshot } = log;
    const { clock, rules } = this.#settings;
    const isFirst = snapshot.generation === 0;
    const began = clock.monotonic();
    let walked: Walked<T>;
    try {
      walked = isFirst ? await this.#gather(rules.confirmations, signal) : await this.#compare(snapshot.rows, signal);
    } catch (error) {
      return this.#failed(pollFault(error), began, signal);
    }
    const { found, repeated, isShort } = walked;
    const recovered = this.#failures > 0 && ({ isRecovered: true } as const);
    const polled = { outcome: 'polled', ...recovered, ...(repeated > 0 && { repeated }) } as const;
    this.#failures = 0;
    this.#failingSince = undefined;
    const now = clock.now();
    const observedAt = new Date(now).toISOString();
    if (found instanceof SnapshotRows) {
      await log.begin(found, observedAt);
      const [first] = log.uncommitted;
      return this.#page(first, { ...polled, isSynced: true });
    }
    const { differences, missing, held } = judge(found, snapshot.missing, { rules, now, isShort });
    const health = { ...polled, ...(held > 0 && { held }) };
    const hasChanged = differences.length > 0;
    if (!hasChanged && snapshot.missing.size === 0 && missing.size === 0) return this.#page(undefined, health);
    const generation = snapshot.generation + (hasChanged ? 1 : 0);
    const delta: Delta<T> = { generation, observedAt, differences, missing };
    await log.stage(delta);
    return this.#page(hasChanged ? delta : undefined, health);
  }

  /** All rows of some complete walks: a row that one of them missed is there all the same. */
  async #gather(walks: number, signal: AbortSignal): Promise<Walked<T>> {
    const rows = new SnapshotRows<T>();
    const repeated = new Set<string>();
    for (let nth = 0; nth < walks; nth += 1) {
      const walked = new Map<string, T>();
      await this.#walk((key, row) => {
        checkStorable(key, row);
        const before = walked.get(key);
        if (before !== undefined && this.#settings.fields(before, row).length > 0) repeated.add(key);
        walked.set(key, row);
      }, signal);
      for (const [key, row] of walked) rows.set(key, row);
    }
    return { found: rows, repeated: repeated.size, isShort: false };
  }

  async #compare(rows: SnapshotRows<T>, signal: AbortSignal): Promise<Walked<T>> {
    const walk = new WalkComparison(rows, this.#settings.fields);
    const lacking = await this.#walk((key, row) => walk.add(key, row), signal);
    const found = walk.end();
    // Before anything is staged: a row that can't be kept fails the poll, and the watch goes on.
    for (const { key, after } of [...found.changed, ...found.added]) checkStorable(key, after);
    return { found, repeated: found.repeated, isShort: lacking > 0 };
  }

  #walk(take: (key: string, row: T) => void, signal: AbortSignal): Promise<number> {
    const { key, concurrency } = this.#settings;
    return walkOnce(this.#source, { concurrency, signal }, (row) => take(rowKey(key, row), row));
  }

  /** Rows that are told apart by something else now would all come again, as if they were others. */
  #checkKeys(rows: SnapshotRows<T>): void {
    for (const [key, row] of rows) {
      if (keyOrNone(this.#settings.key, row) === key) continue;
      throw new CheckpointError(
        "The watch's state tells rows apart by another key. Use the key as before, or give this watch a state of its own: nothing was changed.",
      );
    }
  }

  #failed(error: unknown, began: number, signal: AbortSignal): IteratorResult<Page<Change<T>>, undefined> {
    signal.throwIfAborted();
    const { clock, maxFailures, retryFor } = this.#settings;
    this.#failures += 1;
    this.#failingSince ??= began;
    const isTooLong = clock.monotonic() - this.#failingSince >= retryFor;
    if (this.#failures > maxFailures || isTooLong || isFatal(error, this.#polls === 1)) throw error;
    return this.#page(undefined, { outcome: 'failed', failures: this.#failures, error });
  }

  /** G4: whoever looks on changes nothing. What fails there is its own affair, and every poll's health is on its page too. */
  #tell(health: PageHealth): void {
    try {
      this.#settings.onHealth?.(health);
    } catch {
      // A watch has no other place to tell of it.
    }
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
    this.#tell(whole);
    return {
      done: false,
      value: {
        items: delta ? changesOf(delta, this.#log?.history ?? '') : [],
        position: positionAt(this.#given || (this.#log?.committed ?? 0), this.#pages),
        ...{ index, partition: 0, endsPartition: false, health: whole },
        // Whoever keeps it has it for good before the next poll.
        ...(delta && { commit: true }),
      },
    };
  }
}

/** What a key function makes of a row that came back as JSON has it. */
function keyOrNone<T>(key: (row: T) => unknown, row: T): unknown {
  try {
    return key(row);
  } catch {
    return undefined;
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

/**
 * What a poll failed with. Whoever goes through a row that is nested absurdly deeply runs out of stack: that is the API's doing, and no
 * fault of the program.
 */
function pollFault(error: unknown): unknown {
  if (!(error instanceof RangeError && error.message === 'Maximum call stack size exceeded')) return error;
  return new DecodeError("A row is nested too deeply to be gone through. Tell the API's operator.");
}

/** What will not be better next time. Right at the beginning, that includes a request which the API does not take. */
function isFatal(error: unknown, isFirst: boolean): boolean {
  if (!SluiceError.is(error)) return true;
  if (['config', 'checkpoint', 'lock', 'plugin', 'sink'].includes(error.code)) return true;
  return isFirst && error.code === 'http' && [400, 401, 403].includes(Number(error.details['status']));
}
