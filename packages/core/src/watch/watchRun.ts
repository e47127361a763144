import type { Clock } from '../clock.js';
import { redacted } from '../errorReport.js';
import { CheckpointError, ConfigError, DecodeError, SluiceError } from '../errors.js';
import { isOwnFault, isTransient } from '../isTransient.js';
import { storedPages, withStoredPages } from '../operators/conditionalWalk.js';
import { skippedTicks, type Ticks } from '../operators/ticks.js';
import { walkOnce } from '../operators/walkOnce.js';
import type { Position } from '../position.js';
import { isCount } from '../values.js';
import type { Release } from '../sink/lockQueue.js';
import type { StateLog, StateStore } from '../sink/stateStore.js';
import type { Page, PageHealth } from '../source/page.js';
import type { PageCacheLimits, StoredPages } from '../source/pageCache.js';
import type { PageSource } from '../source/pageSource.js';
import { done } from '../source/cancellable.js';
import { changesOf, type Delta } from './acceptedSnapshot.js';
import type { Change, Difference } from './change.js';
import type { ChangeEvents } from './changeEvents.js';
import { checkStorable } from './checkStorable.js';
import type { FieldsBetween } from './rowComparison.js';
import { rowKey, SnapshotRows } from './snapshotRows.js';
import { judgeRemovals, type RemovalRules } from './removals.js';
import { WalkComparison, type Findings } from './walkComparison.js';
import { WatchLog, type WatchIdentity } from './watchLog.js';

export interface WatchSettings<T> {
  readonly key: (row: T) => unknown;
  readonly fields: FieldsBetween<T>;
  readonly rules: RemovalRules;
  readonly identity: WatchIdentity;
  /** Without it, each run starts a new history. */
  readonly state: StateStore | undefined;
  readonly maxFailures: number;
  readonly retryFor: number;
  readonly polls: number;
  readonly concurrency: number;
  readonly clock: Clock;
  readonly every: number;
  readonly newTicks: () => Ticks;
  readonly events: ChangeEvents<T>;
  readonly onHealth: ((health: PageHealth) => void) | undefined;
  readonly newId: (() => string) | undefined;
  readonly conditional: boolean | PageCacheLimits;
}

interface WatchStart {
  /** The generation to resume after; absent at the start. */
  readonly startAt: number | undefined;
  readonly newHistory: string | undefined;
}

/** The result of one poll: all rows of the first one, later the differences. */
interface PollResult<T> {
  readonly found: SnapshotRows<T> | Findings<T>;
  /** Of the first snapshot: in how many walks, after it was seen, a row was not. */
  readonly lacking?: ReadonlyMap<string, number>;
  readonly repeated: number;
  readonly isShort: boolean;
  readonly isIncomplete: boolean;
}

/** One run of a watch: emits again what was staged, then polls, compares, stages and emits. */
export class WatchRun<T> {
  readonly #source: PageSource<T>;
  readonly #settings: WatchSettings<T>;
  readonly #start: WatchStart;
  readonly #ticks: Ticks;
  readonly #cache: StoredPages | undefined;
  #release: Release | undefined;
  #log: WatchLog<T> | undefined;
  /** Staged by an earlier run and not emitted by this one yet. */
  #staged: readonly Delta<T>[] = [];
  /** The last emitted generation. A consumer that asks for more has received it. */
  #emitted = 0;
  #polls = 0;
  /** A row was listed, now or by an earlier run, so the address is right. */
  #hasListed = false;
  #pages = 0;
  #failures = 0;
  /** When the first of these failures began, by the monotonic clock. */
  #failingSince: number | undefined;
  #current: Promise<unknown> = Promise.resolve();

  constructor(source: PageSource<T>, settings: WatchSettings<T>, start: WatchStart) {
    this.#source = source;
    this.#settings = settings;
    this.#start = start;
    this.#ticks = settings.newTicks();
    this.#cache = storedPages(settings.conditional);
  }

  next(signal: AbortSignal): Promise<IteratorResult<Page<Change<T>>, undefined>> {
    const step = this.#advance(signal);
    this.#current = step.catch(() => undefined);
    return step;
  }

  /** Closes state and lock after the current step. */
  async end(): Promise<void> {
    await this.#current;
    await this.#log?.close();
    await this.#release?.();
  }

  async #advance(signal: AbortSignal): Promise<IteratorResult<Page<Change<T>>, undefined>> {
    const log = this.#log ?? (await this.#open(signal));
    await log.commit(this.#emitted);
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
    const log = new WatchLog<T>(state?.log('watch') ?? noLog, identity, newId);
    this.#log = log;
    // A consumer that has a generation continues its history.
    await log.open(startAt ? undefined : newHistory);
    this.#checkKeys(log.snapshot.rows);
    this.#hasListed = log.snapshot.generation > 0;
    if (startAt !== undefined) {
      const isOther = newHistory !== undefined && log.history !== newHistory;
      if (isOther || startAt < log.committed || startAt > log.snapshot.generation)
        throw new CheckpointError(
          `The watch's state does not match the position to resume from (generation ${startAt}; it has ${log.committed} to ${log.snapshot.generation}). Is it the state that belongs to the target?`,
          {},
          [{ kind: 'restart' }],
        );
      await log.commit(startAt);
    }
    this.#staged = [...log.uncommitted];
    // Otherwise the first delta has all rows.
    if (log.committed > 0) this.#settings.events.known(log.snapshot.rows, this.#staged, this.#settings.clock.now());
    return log;
  }

  async #poll(log: WatchLog<T>, signal: AbortSignal): Promise<IteratorResult<Page<Change<T>>, undefined>> {
    const { snapshot } = log;
    const { clock, rules } = this.#settings;
    const isFirst = snapshot.generation === 0;
    const began = clock.monotonic();
    let result: PollResult<T>;
    try {
      result = isFirst ? await this.#collect(rules.confirmations, signal) : await this.#compare(snapshot.rows, signal);
    } catch (error) {
      return this.#failed(pollError(error), began, signal);
    }
    const { found, lacking, repeated, isShort, isIncomplete } = result;
    const recovered = this.#failures > 0 && ({ isRecovered: true } as const);
    const marks = { ...(repeated > 0 && { repeated }), ...(isIncomplete && { isIncomplete }) };
    const polled = { outcome: 'polled', ...recovered, ...marks } as const;
    this.#failures = 0;
    this.#failingSince = undefined;
    const now = clock.now();
    const observedAt = new Date(now).toISOString();
    if (found instanceof SnapshotRows) {
      const missing = Array.from(lacking ?? [], ([key, walks]) => [key, { walks, since: now, isHeld: false }] as const);
      await log.begin(found, observedAt, new Map(missing));
      const [first] = log.uncommitted;
      return this.#page(first, { ...polled, isSynced: true });
    }
    const { differences, missing, held } = judgeRemovals(found, snapshot.missing, {
      rules,
      now,
      isShort,
      isIncomplete,
    });
    const health = { ...polled, ...(held > 0 && { held }) };
    const hasChanged = differences.length > 0;
    if (!hasChanged && snapshot.missing.size === 0 && missing.size === 0) return this.#page(undefined, health);
    const generation = snapshot.generation + (hasChanged ? 1 : 0);
    const delta: Delta<T> = { generation, observedAt, differences, missing };
    await log.stage(delta);
    return this.#page(hasChanged ? delta : undefined, health);
  }

  /** Collects all rows of several complete walks, in case one of them missed some. */
  async #collect(walks: number, signal: AbortSignal): Promise<PollResult<T>> {
    const rows = new SnapshotRows<T>();
    const lacking = new Map<string, number>();
    const repeated = new Set<string>();
    let isIncomplete = false;
    for (let nth = 0; nth < walks; nth += 1) {
      const walk = await withStoredPages(this.#cache, signal, async () => {
        const walked = new Map<string, T>();
        const twice = new Set<string>();
        const ended = await this.#walk((key, row) => {
          checkStorable(key, row);
          const before = walked.get(key);
          if (before !== undefined && this.#settings.fields(before, row).length > 0) twice.add(key);
          walked.set(key, row);
          return before !== undefined;
        }, signal);
        return { ...ended, walked, twice };
      });
      isIncomplete ||= walk.isIncomplete;
      for (const key of walk.twice) repeated.add(key);
      for (const [key, row] of walk.walked) rows.set(key, row);
      for (const [key] of rows) {
        if (walk.walked.has(key)) lacking.delete(key);
        else if (!walk.isIncomplete) lacking.set(key, (lacking.get(key) ?? 0) + 1);
      }
    }
    return { found: rows, lacking, repeated: repeated.size, isShort: false, isIncomplete };
  }

  async #compare(rows: SnapshotRows<T>, signal: AbortSignal): Promise<PollResult<T>> {
    const { found, isShort, isIncomplete } = await withStoredPages(this.#cache, signal, async () => {
      const comparison = new WalkComparison(rows, this.#settings.fields);
      const ended = await this.#walk((key, row) => comparison.add(key, row), signal);
      return { ...ended, found: comparison.end() };
    });
    // Checked before staging: a row that cannot be stored fails the poll, and the watch continues.
    for (const { key, after } of [...found.changed, ...found.added]) checkStorable(key, after);
    return { found, repeated: found.repeated, isShort, isIncomplete };
  }

  #walk(take: (key: string, row: T) => boolean, signal: AbortSignal): ReturnType<typeof walkOnce> {
    const { key, concurrency } = this.#settings;
    return walkOnce(this.#source, { concurrency, signal, cache: this.#cache }, (row) => {
      this.#hasListed = true;
      return take(rowKey(key, row), row);
    });
  }

  /** With another key, all rows would seem new. */
  #checkKeys(rows: SnapshotRows<T>): void {
    for (const [key, row] of rows) {
      if (keyOrNone(this.#settings.key, row) === key) continue;
      throw new CheckpointError(
        "The watch's state identifies rows by another key. Use the previous key, or give this watch a state of its own: nothing was changed.",
      );
    }
  }

  #failed(error: unknown, began: number, signal: AbortSignal): IteratorResult<Page<Change<T>>, undefined> {
    signal.throwIfAborted();
    const { clock, maxFailures, retryFor } = this.#settings;
    this.#failures += 1;
    this.#failingSince ??= began;
    const isTooLong = clock.monotonic() - this.#failingSince >= retryFor;
    if (this.#failures > maxFailures || isTooLong || this.#isPermanent(error)) throw error;
    return this.#page(undefined, {
      outcome: 'failed',
      failures: this.#failures,
      error: redacted(error, this.#source.info.endpoint),
    });
  }

  /** Removals that the next generations may have. A row that one of those has removed already is in it. */
  #unconfirmed({ generation, observedAt, missing }: Delta<T>): Change<T>[] {
    const later = this.#staged.flatMap(({ differences }) => differences).filter(({ type }) => type === 'removed');
    const differences = [...missing.keys()].flatMap((key): Difference<T>[] => {
      const row = this.#log?.snapshot.rows.get(key);
      if (row === undefined) return later.filter((each) => each.key === key);
      return [{ type: 'removed', key, before: row, after: null, fields: [] }];
    });
    return changesOf({ generation, observedAt, differences, missing }, this.#log?.history ?? '');
  }

  /**
   * Whether another poll is pointless. Until one has succeeded, the code or its settings may be wrong. Afterwards they
   * are right, and the API, or its certificate, may be mended.
   */
  #isPermanent(error: unknown): boolean {
    if (isOwnFault(error)) return true;
    // An API that asks to wait for more than a day.
    if (SluiceError.is(error, 'rate-limited') && !isTransient(error)) return true;
    const hasSucceeded = this.#failures < this.#polls;
    if (hasSucceeded) return false;
    // Pages repeat if rows move during the walk.
    if (isTransient(error) || SluiceError.is(error, 'no-progress')) return false;
    // An API that is being deployed may lack its listing for a while.
    const isNotFound = SluiceError.is(error, 'http') && error.details['status'] === 404;
    return !isNotFound || (this.#polls === 1 && !this.#hasListed);
  }

  /** G4: an observer that throws changes nothing. The health is also on the page. */
  #reportHealth(health: PageHealth): void {
    try {
      this.#settings.onHealth?.(health);
    } catch {
      // A watch has nowhere else to report it.
    }
  }

  #page(
    delta: Delta<T> | undefined,
    health: Omit<PageHealth, 'rows' | 'generation'>,
  ): IteratorResult<Page<Change<T>>, undefined> {
    const { generation = 0, rows } = this.#log?.snapshot ?? {};
    const whole: PageHealth = { ...health, rows: rows?.size ?? 0, generation: delta?.generation ?? generation };
    if (delta) {
      this.#emitted = delta.generation;
      this.#settings.events.changed(delta);
    }
    const index = this.#pages;
    this.#pages += 1;
    this.#reportHealth(whole);
    return {
      done: false,
      value: {
        items: delta ? changesOf(delta, this.#log?.history ?? '') : [],
        position: positionAt(this.#emitted || (this.#log?.committed ?? 0), this.#pages),
        index,
        partition: 0,
        endsPartition: false,
        health: whole,
        // Makes an export commit it before the next poll.
        ...(delta && { commit: true }),
        ...(delta && delta.missing.size > 0 && { unconfirmed: this.#unconfirmed(delta) }),
      },
    };
  }
}

/** The key of a row that was restored from JSON; `undefined` if the function throws. */
function keyOrNone<T>(key: (row: T) => unknown, row: T): unknown {
  try {
    return rowKey(key, row);
  } catch {
    return undefined;
  }
}

/** Stores nothing, for a watch without state: the run keeps what it needs. */
const noLog: StateLog = {
  bytes: 0,
  async *read() {
    yield* [];
  },
  append: () => Promise.resolve(),
  replace: () => Promise.resolve(),
  remove: () => Promise.resolve(),
  close: () => Promise.resolve(),
};

/** The position after a generation. */
function positionAt(generation: number, pages: number): Position {
  return { before: 0, begun: { '0': { next: { cursor: String(generation) }, pages, rows: 0 } }, rows: 0, pages };
}

/** The generation of a position; `undefined` at the start. @throws ConfigError if it is not a watch's position. */
export function generationAt({ before, begun }: Position): number | undefined {
  const first = begun['0'];
  if (before === 0 && first === undefined) return undefined;
  const generation =
    first && first !== 'done' && 'cursor' in first.next && /^\d+$/.test(first.next.cursor)
      ? Number(first.next.cursor)
      : undefined;
  if (isCount(generation)) return generation;
  throw new ConfigError('startAt is not a position of a watch. Give the position of one of its pages.', {
    option: 'startAt',
  });
}

/** The error of a failed poll. A stack overflow comes from a row that is nested too deeply: the API's error. */
function pollError(error: unknown): unknown {
  if (!(error instanceof RangeError && error.message === 'Maximum call stack size exceeded')) return error;
  return new DecodeError("A row is nested too deeply to be processed. Tell the API's operator.");
}
