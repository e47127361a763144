import type { Clock } from '../../clock.js';
import { redactThrown } from '../../redactError.js';
import { CheckpointError, ConfigError, DecodeError, SluiceError } from '../../errors.js';
import { isOwnFault, isTransient } from '../../isTransient.js';
import { createStoredPages, withStoredPages } from '../operators/conditionalWalk.js';
import { countSkipped, type Ticks } from '../operators/ticks.js';
import { walkOnce } from '../operators/walkOnce.js';
import type { Position } from '../../position.js';
import { type BootClock, continueTimeline } from '../../timeline.js';
import { isCount } from '../../values.js';
import type { Release } from '../sink/lockQueue.js';
import type { StateStore } from '../sink/stateStore.js';
import { isAboutRequest } from '../source/chainErrors.js';
import type { Page, PageHealth, WatchedWalk } from '../source/page.js';
import type { PageCacheLimits, StoredPages } from '../source/pageCache.js';
import type { PageSource } from '../source/pageSource.js';
import { scopeOf, sizeOf, toChanges, toEvents, walkOf, type Delta } from './acceptedSnapshot.js';
import type { Change, Difference } from './change.js';
import type { Due } from './due.js';
import type { ChangeEvents } from './changeEvents.js';
import { checkStorable } from './checkStorable.js';
import type { FieldsBetween } from './comparisonOptions.js';
import { rowKey, SnapshotRows } from './snapshotRows.js';
import { judgeRules, RuleWalk } from './judgeRules.js';
import { judgeRemovals, type JudgedWalk, type Missing, type RemovalRules } from './removals.js';
import type { Rules } from './rule.js';
import type { RuleBook } from './ruleBook.js';
import { FirstWalk, WalkComparison, type Findings } from './walkComparison.js';
import { WatchLog, type WatchIdentity } from './watchLog.js';

export interface WatchSettings<T> {
  readonly key: (row: T) => unknown;
  readonly fields: FieldsBetween<T>;
  readonly removals: RemovalRules;
  /** What must not stay so for too long, and the time by which that is measured. Absent without rules. */
  readonly stillSo: { readonly rules: Rules<T>; readonly boot: BootClock } | undefined;
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
  /** Absent for a watch that starts from the beginning. */
  readonly startAt: ChangePosition | undefined;
  readonly newHistory: string | undefined;
}

/** Where to resume: after a generation, and after some changes of the next generation. */
interface ChangePosition {
  readonly generation: number;
  readonly changes: number;
}

/** Changes per page, so that the changes of a million first rows, and their text, are never in memory at once. */
const changesPerPage = 10_000;

/** What a watch emits: changes, and events of its rules. */
export type WatchEvent<T> = Change<T> | Due<T>;

/** Whether a walk to the end lacked rows: by its total, or as the API said. */
interface WalkedListing {
  readonly isShort: boolean;
  readonly isIncomplete: boolean;
}

/** Receives the rows of a walk, and returns a result at its end. */
interface ListedRows<T, R> {
  /** Returns whether the walk has listed the key before. */
  add(key: string, row: T): boolean;
  end(): R;
}

/** A complete walk, compared with the accepted rows. */
type ComparedWalk<T> = Findings<T> & WalkedListing;

/** An accepted walk, with what it changes in the snapshot. */
type JudgedRows<T> = FirstRows<T> | (ComparedWalk<T> & JudgedWalk<T>);

/** The first snapshot. */
interface FirstRows<T> extends WalkedListing {
  readonly rows: SnapshotRows<T>;
  /** For each row that the last walk lacked: how many consecutive walks lacked it. */
  readonly lacking: ReadonlyMap<string, number>;
  readonly repeated: number;
}

interface PollOutcome<T> {
  /** The staged changes. */
  readonly delta?: Delta<T> | undefined;
  /** Absent if the poll failed. */
  readonly walk?: WatchedWalk;
  readonly health: Omit<PageHealth, 'rows' | 'generation'>;
}

/** One run of a watch: emits staged deltas again, then polls, compares, stages and emits. */
export class WatchRun<T> {
  readonly #source: PageSource<T>;
  readonly #settings: WatchSettings<T>;
  readonly #start: WatchStart;
  readonly #cache: StoredPages | undefined;
  #pages: AsyncGenerator<Page<WatchEvent<T>>, undefined, undefined> | undefined;
  #release: Release | undefined;
  #log: WatchLog<T> | undefined;
  /** This or an earlier run has listed a row, so the address is right. */
  #hasListed = false;
  #hasSucceeded = false;
  #pageCount = 0;
  /** Consecutive failed polls, and when the first one began, by the monotonic clock. */
  #failing: { readonly polls: number; readonly since: number } | undefined;

  constructor(source: PageSource<T>, settings: WatchSettings<T>, start: WatchStart) {
    this.#source = source;
    this.#settings = settings;
    this.#start = start;
    this.#cache = createStoredPages(settings.conditional);
  }

  next(signal: AbortSignal): Promise<IteratorResult<Page<WatchEvent<T>>, undefined>> {
    this.#pages ??= this.#run(signal);
    return this.#pages.next();
  }

  /** Closes state and lock after the current step. */
  async end(): Promise<void> {
    await this.#pages?.return(undefined);
    await this.#log?.close();
    await this.#release?.();
  }

  /** The changes that `next` emits first because the consumer does not have them. Changes nothing. */
  async *uncommitted(signal: AbortSignal): AsyncGenerator<readonly WatchEvent<T>[], void, undefined> {
    const log = await this.#open(signal);
    const { generation = 0, changes: emitted = 0 } = this.#start.startAt ?? {};
    let from = emitted;
    for (const delta of log.uncommitted.filter((each) => each.generation > generation)) {
      for (; from < sizeOf(delta); from += changesPerPage) yield eventsOf(log, delta, from);
      from = 0;
    }
  }

  /** The rows that the consumer has, as changes that add them. Changes nothing. */
  async *committed(signal: AbortSignal): AsyncGenerator<readonly WatchEvent<T>[], void, undefined> {
    const log = await this.#open(signal);
    const { generation = 0 } = this.#start.startAt ?? {};
    const rows = new Map(log.snapshot.rows);
    const later = log.uncommitted.filter((each) => each.generation > generation);
    for (const { key, before } of later.flatMap(({ differences }) => differences).reverse())
      if (before === null) rows.delete(key);
      else rows.set(key, before);
    const differences = Array.from(rows, ([key, after]): Difference<T> => {
      return { type: 'added', key, before: null, after, fields: [] };
    });
    const observedAt = new Date(this.#settings.clock.now()).toISOString();
    const delta = { generation, observedAt, scope: `${log.history}-committed`, differences, missing: new Map() };
    for (let from = 0; from < differences.length; from += changesPerPage) yield eventsOf(log, delta, from);
  }

  /** Commits a page when the consumer requests the next one, since it has received the page then. */
  async *#run(signal: AbortSignal): AsyncGenerator<Page<WatchEvent<T>>, undefined, undefined> {
    const { clock, events, every, newTicks, polls } = this.#settings;
    const ticks = newTicks();
    const log = await this.#open(signal);
    await log.commit(this.#start.startAt?.generation);
    const staged = [...log.uncommitted];
    // Without a commit, the first delta has all rows.
    if (log.committed > 0) events.known(log.snapshot, staged, clock.now());
    await log.commit();
    let from = this.#start.startAt?.changes ?? 0;
    // `shift` frees each delta, because a first snapshot has all rows.
    for (let delta = staged.shift(); delta; delta = staged.shift()) {
      const isSynced = delta.generation === 1 || undefined;
      yield* this.#emit(
        log,
        { delta, walk: walkOf(delta), health: { outcome: 'replayed', isSynced } },
        { from, later: staged },
      );
      await log.commit(delta.generation);
      from = 0;
    }
    for (let poll = 0; poll < polls; poll += 1) {
      await ticks.next(signal, countSkipped(this.#failing?.polls ?? 0, every));
      const outcome = await this.#poll(log, signal);
      yield* this.#emit(log, outcome);
      await log.commit(outcome.delta?.generation);
    }
    return undefined;
  }

  async #open(signal: AbortSignal): Promise<WatchLog<T>> {
    const { state, identity, newId } = this.#settings;
    const { startAt, newHistory } = this.#start;
    this.#release = await state?.lock(signal, 'watch');
    const log = new WatchLog<T>(state?.log('watch'), identity, newId);
    this.#log = log;
    // A consumer that has a generation continues its history.
    await log.open(startAt && (startAt.generation > 0 || startAt.changes > 0) ? undefined : newHistory);
    this.#checkKeys(log.snapshot.rows);
    this.#hasListed = log.snapshot.generation > 0;
    if (startAt === undefined) return log;
    const { generation, changes } = startAt;
    const isOther = newHistory !== undefined && log.history !== newHistory;
    const latest = changes > 0 ? generation + 1 : generation;
    if (isOther || generation < log.committed || latest > log.snapshot.generation)
      throw new CheckpointError(
        `The watch's state does not match the position to resume from (generation ${latest}; it has ${log.committed} to ${log.snapshot.generation}). Is it the state that belongs to the target?`,
        {},
        [{ kind: 'restart' }],
      );
    return log;
  }

  async #poll(log: WatchLog<T>, signal: AbortSignal): Promise<PollOutcome<T>> {
    const { generation, rows, missing: missingBefore } = log.snapshot;
    const { clock, removals, stillSo } = this.#settings;
    const began = clock.monotonic();
    const ruled = stillSo && beginRules(stillSo.rules, log.snapshot.rules);
    let walk: FirstRows<T> | ComparedWalk<T>;
    let judged: JudgedRows<T>;
    let now: number;
    let found: Pick<Delta<T>, 'rules' | 'due'> | undefined;
    try {
      const keyBefore = await log.currentKey();
      walk =
        generation === 0
          ? await this.#collect(removals.confirmations, signal, ruled)
          : await this.#compare(rows, signal, ruled);
      // With an API key of another project, most rows would be gone.
      const isKnown = 'gone' in walk && 2 * walk.gone.length <= rows.size;
      const key = isKnown ? await log.currentKey() : undefined;
      if (key === keyBefore) log.adoptKey(key);
      now = clock.now();
      judged = 'rows' in walk ? walk : judgeRows(walk, missingBefore, { rules: removals, now });
      found = ruled && (await this.#judgeRules(log, ruled, now, judged));
    } catch (error) {
      return this.#failed(pollError(error), began, signal);
    }
    const health: PollOutcome<T>['health'] = {
      outcome: 'polled',
      isRecovered: this.#failing && true,
      repeated: walk.repeated || undefined,
      isIncomplete: walk.isIncomplete || undefined,
    };
    this.#failing = undefined;
    this.#hasSucceeded = true;
    // A walk with fewer rows than its total is incomplete as well.
    const isIncomplete = walk.isIncomplete || walk.isShort || undefined;
    const ended = walkOf({ observedAt: new Date(now).toISOString(), isIncomplete });
    if ('rows' in judged) {
      const missing = Array.from(
        judged.lacking,
        ([key, walks]) => [key, { walks, since: now, isHeld: false }] as const,
      );
      await log.begin(judged.rows, ended, new Map(missing), found);
      return { delta: log.uncommitted[0], walk: ended, health: { ...health, isSynced: true } };
    }
    const { differences, missing, held } = judged;
    const outcome = { walk: ended, health: { ...health, held: held || undefined } };
    const hasChanged = sizeOf({ differences, due: found?.due }) > 0;
    if (!hasChanged && !found && missingBefore.size === 0 && missing.size === 0) return outcome;
    const next = generation + (hasChanged ? 1 : 0);
    const delta = await log.stage({ generation: next, ...ended, differences, missing, ...found });
    return { delta: hasChanged ? delta : undefined, ...outcome };
  }

  /** What a walk shows of the rules, which is stored with its changes; `undefined` without any. */
  async #judgeRules(
    log: WatchLog<T>,
    listed: RuleWalk<T>,
    wall: number,
    walk: JudgedRows<T>,
  ): Promise<Pick<Delta<T>, 'rules' | 'due'> | undefined> {
    const { stillSo, every } = this.#settings;
    if (!stillSo) return undefined;
    const { rules, boot } = stillSo;
    const { rules: book, rows: accepted } = log.snapshot;
    const rows = 'rows' in walk ? walk.rows : accepted;
    const differences = 'rows' in walk ? [] : walk.differences;
    const removed = differences.filter(({ type }) => type === 'removed').map(({ key }) => key);
    const { changes, due } = judgeRules(rules, book, {
      time: continueTimeline(book?.time, { id: await boot.id(), uptime: boot.now(), wall }),
      listed,
      gone: new Set('rows' in walk ? walk.lacking.keys() : walk.gone.map(([key]) => key)),
      removed: new Set(removed),
      rowOf: (key) => rows.get(key),
      every,
    });
    for (const { key, row } of due) checkStorable(key, row);
    return { rules: changes, due };
  }

  /** Collects the rows of several complete walks, in case one of the walks missed some. */
  async #collect(walks: number, signal: AbortSignal, ruled: RuleWalk<T> | undefined): Promise<FirstRows<T>> {
    const first = await this.#walk(signal, () => new FirstWalk(this.#settings.fields), ruled);
    const { rows } = first;
    for (const [key, row] of rows) checkStorable(key, row);
    const lacking = new Map<string, number>();
    let { repeated, isIncomplete, isShort } = first;
    for (let nth = 1; nth < walks; nth += 1) {
      const walk = await this.#compare(rows, signal, ruled);
      repeated = Math.max(repeated, walk.repeated);
      isIncomplete ||= walk.isIncomplete;
      isShort ||= walk.isShort;
      const gone = new Set(walk.gone.map(([key]) => key));
      for (const key of lacking.keys()) if (!gone.has(key)) lacking.delete(key);
      if (!walk.isIncomplete) for (const key of gone) lacking.set(key, (lacking.get(key) ?? 0) + 1);
      for (const { key, after } of [...walk.changed, ...walk.added]) if (after !== null) rows.set(key, after);
    }
    return { rows, lacking, repeated, isIncomplete, isShort };
  }

  async #compare(rows: SnapshotRows<T>, signal: AbortSignal, ruled: RuleWalk<T> | undefined): Promise<ComparedWalk<T>> {
    const walk = await this.#walk(signal, () => new WalkComparison(rows, this.#settings.fields), ruled);
    // Before staging: a row that cannot be stored fails only this poll, and the watch continues.
    for (const { key, after } of [...walk.changed, ...walk.added]) checkStorable(key, after);
    return walk;
  }

  #walk<R>(
    signal: AbortSignal,
    begin: () => ListedRows<T, R>,
    ruled: RuleWalk<T> | undefined,
  ): Promise<R & WalkedListing> {
    const { key, concurrency } = this.#settings;
    return withStoredPages(this.#cache, signal, async () => {
      const listed = begin();
      const ended = await walkOnce(this.#source, { concurrency, signal, cache: this.#cache }, (row) => {
        this.#hasListed = true;
        const named = rowKey(key, row);
        ruled?.add(named, row);
        return listed.add(named, row);
      });
      return { ...listed.end(), ...ended };
    });
  }

  /** Checks that `key` identifies the stored rows as before: with another key, all rows would seem new. */
  #checkKeys(rows: SnapshotRows<T>): void {
    for (const [key, row] of rows) {
      if (keyOrNone(this.#settings.key, row) === key) continue;
      throw new CheckpointError(
        "The watch's state identifies rows by another key. Use the previous key, or give this watch a state of its own: nothing was changed.",
      );
    }
  }

  #failed(error: unknown, began: number, signal: AbortSignal): PollOutcome<T> {
    signal.throwIfAborted();
    const { clock, maxFailures, retryFor } = this.#settings;
    const { polls: failed = 0, since = began } = this.#failing ?? {};
    const failures = failed + 1;
    this.#failing = { polls: failures, since };
    if (failures > maxFailures || clock.monotonic() - since >= retryFor || this.#isPermanent(error, failures))
      throw error;
    return { health: { outcome: 'failed', failures, error: redactThrown(error, this.#source.info.endpoint) } };
  }

  /**
   * Whether another poll is pointless. Until a poll has succeeded, the code or its settings may be wrong. Afterwards
   * they are right, and somebody may repair the API or its certificate.
   */
  #isPermanent(error: unknown, failures: number): boolean {
    if (isOwnFault(error)) return true;
    // The API asks to wait for more than a day.
    if (SluiceError.is(error, 'rate-limited') && !isTransient(error)) return true;
    if (this.#hasSucceeded) return false;
    // Pages repeat if rows move during the walk.
    if (isTransient(error) || SluiceError.is(error, 'no-progress')) return false;
    // An API that is being deployed may lack its listing for a while.
    const isNotFound = SluiceError.is(error, 'http') && error.details['status'] === 404 && isAboutRequest(error);
    return !isNotFound || (failures === 1 && !this.#hasListed);
  }

  /**
   * The pages of a poll. The last one has the outcome of the poll, and the unconfirmed removals.
   *
   * @param from the number of changes of the delta that the consumer has
   * @param later staged deltas after this one
   */
  *#emit(
    log: WatchLog<T>,
    { delta, walk, health }: PollOutcome<T>,
    { from, later }: { from: number; later: readonly Delta<T>[] } = { from: 0, later: [] },
  ): Generator<Page<WatchEvent<T>>, void, undefined> {
    const { generation, rows } = log.snapshot;
    if (delta) this.#settings.events.changed(delta);
    const changes = delta ? sizeOf(delta) : 0;
    let emitted = from;
    for (; delta && changes - emitted > changesPerPage; emitted += changesPerPage) {
      const before = { generation: delta.generation - 1, changes: emitted + changesPerPage };
      yield { ...this.#page(log, { delta, from: emitted, position: before }), isContinued: true };
    }
    const reported: PageHealth = { ...health, rows: rows.size, generation: delta?.generation ?? generation };
    this.#reportHealth(reported);
    const position = { generation: delta?.generation ?? log.committed, changes: 0 };
    yield {
      ...this.#page(log, { delta, from: emitted, position }),
      health: reported,
      ...(walk && { walk }),
      ...(delta && delta.missing.size > 0 && { unconfirmed: unconfirmedChanges(log, delta, later) }),
    };
  }

  #page(
    log: WatchLog<T>,
    { delta, from, position }: { delta: Delta<T> | undefined; from: number; position: ChangePosition },
  ): Page<WatchEvent<T>> {
    const index = this.#pageCount;
    this.#pageCount += 1;
    const page = {
      items: [],
      position: encodePosition(position, this.#pageCount),
      index,
      partition: 0,
      endsPartition: false,
    };
    if (!delta) return page;
    const items = eventsOf(log, delta, from);
    // `commit` makes an export commit the page before the next page or poll.
    return { ...page, items, scope: scopeOf(delta, log.history, from), commit: true };
  }

  /** Promise G4: an observer that throws changes nothing. The health is also on the page. */
  #reportHealth(health: PageHealth): void {
    try {
      this.#settings.onHealth?.(health);
    } catch {
      // A watch has nowhere else to report it.
    }
  }
}

function eventsOf<T>(log: WatchLog<T>, delta: Delta<T>, from: number): WatchEvent<T>[] {
  return toEvents(delta, log.history, { from, to: from + changesPerPage });
}

/** Removals that later generations may have. A row that a later delta has removed already is taken from there. */
function unconfirmedChanges<T>(log: WatchLog<T>, delta: Delta<T>, later: readonly Delta<T>[]): Change<T>[] {
  const removed = later.flatMap(({ differences }) => differences).filter(({ type }) => type === 'removed');
  const differences = [...delta.missing.keys()].flatMap((key): Difference<T>[] => {
    const row = log.snapshot.rows.get(key);
    if (row === undefined) return removed.filter((each) => each.key === key);
    return [{ type: 'removed', key, before: row, after: null, fields: [] }];
  });
  return toChanges({ ...delta, scope: `${scopeOf(delta, log.history, 0)}-missing`, differences }, log.history);
}

function judgeRows<T>(
  walk: ComparedWalk<T>,
  missing: ReadonlyMap<string, Missing>,
  { rules, now }: { readonly rules: RemovalRules; readonly now: number },
): ComparedWalk<T> & JudgedWalk<T> {
  const { isShort, isIncomplete } = walk;
  return { ...walk, ...judgeRemovals(walk, missing, { rules, now, isShort, isIncomplete }) };
}

/** `undefined` where no rule is left, nor was one. */
function beginRules<T>(rules: Rules<T>, book: RuleBook<T> | undefined): RuleWalk<T> | undefined {
  const names = [...Object.keys(rules), ...Object.keys(book?.versions ?? {})];
  return names.length === 0 ? undefined : new RuleWalk(rules, book);
}

/** The key of a row that was restored from JSON; `undefined` if the function throws. */
function keyOrNone<T>(key: (row: T) => unknown, row: T): unknown {
  try {
    return rowKey(key, row);
  } catch {
    return undefined;
  }
}

function encodePosition({ generation, changes }: ChangePosition, pages: number): Position {
  return { before: 0, begun: { '0': { next: { cursor: String(generation) }, pages, rows: changes } }, rows: 0, pages };
}

/** Decodes a position; `undefined` if it is the start. @throws ConfigError if it is not a watch's position. */
export function decodePosition({ before, begun }: Position): ChangePosition | undefined {
  const first = begun['0'];
  if (before === 0 && first === undefined) return undefined;
  if (first && 'cursor' in first.next && /^\d+$/.test(first.next.cursor)) {
    const generation = Number(first.next.cursor);
    if (isCount(generation)) return { generation, changes: first.rows };
  }
  throw new ConfigError('startAt is not a position of a watch. Give the position of one of its pages.', {
    option: 'startAt',
  });
}

/** The error of a failed poll. A stack overflow comes from a row that is nested too deeply: the API's error. */
function pollError(error: unknown): unknown {
  if (!(error instanceof RangeError && error.message === 'Maximum call stack size exceeded')) return error;
  return new DecodeError("A row is nested too deeply to be processed. Tell the API's operator.");
}
