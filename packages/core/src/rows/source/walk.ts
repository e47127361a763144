import type { Clock } from '../../clock.js';
import { reportOf } from '../../errorReport.js';
import { redactThrown } from '../../redactError.js';
import { amend, ConfigError, SluiceError } from '../../errors.js';
import { joinTotals, type Position, type StatedTotals, type TotalGap, withDone } from '../../position.js';
import { kindOf } from '../../values.js';
import { cancellable, done, type PullIterator } from './cancellable.js';
import type { SourceDefinition } from './definition.js';
import { otherPlan, repeatedKey, sourceFault } from './chainErrors.js';
import { canonicalJson, hashOfJson } from './fingerprint.js';
import type { Discovery, ParentRow, PartitionLog } from './discovery.js';
import type { Since } from './increment.js';
import { keyOf, ListedKeys, type RepeatAction } from './listedKeys.js';
import type { Page } from './page.js';
import type { PageCache } from './pageCache.js';
import { PageChain, type ChainPage } from './pageChain.js';
import { notify } from './sourceEvent.js';

/** How a walk requests a source's pages. */
export interface PagesOptions {
  /**
   * Resumes from the `position` of a page or an error, or (if the plan has one partition) from a cursor of the API. A
   * position of other parameters, another page size or definition fails the walk with a ConfigError; a cursor can't.
   */
  readonly startAt?: Position | string | undefined;
  /**
   * Walks this partition only, from 0, and requests nothing beyond it. `startAt` is then a position of such a walk, or
   * a cursor within the partition. Default: all partitions of the plan.
   */
  readonly partition?: number | undefined;
  /** Partitions to walk in parallel. Default 1. The limiter still decides when requests start. */
  readonly concurrency?: number | undefined;
  /**
   * Pages to fetch ahead of the consumer, beyond one per partition in progress. Default for consumers that pull: the
   * concurrency, so that no partition waits during a commit. For subscribers, which show no demand: 0.
   */
  readonly prefetch?: number | undefined;
  /** Starts a history: a source with state, e.g. a watch, discards state of other histories. */
  readonly newHistory?: string | undefined;
  /** Only rows from a value on, if the source can (`info.increment`). Not part of the plan. */
  readonly since?: Since | undefined;
  /** Stores pages between walks, for sources that send conditional requests. `poll` and `watch` give it. */
  readonly cache?: PageCache | undefined;
  /** Where discovered partitions are recorded. Default: in memory, so the walk can only begin at the start. */
  readonly partitionLog?: PartitionLog | undefined;
  /**
   * Whether it is an error if a listing whose rows are the partitions has fewer of them than its own total. Default: a
   * warning. What the partitions themselves lack is in `position.totals`.
   */
  readonly requireTotal?: boolean | undefined;
  /** Called instead of an error, before the walk ends, if that listing differs from its total. */
  readonly onShort?: ((gap: TotalGap) => void) | undefined;
  /**
   * Compares the keys of the rows of each partition, if the source has a `key`: then its different keys are compared with
   * the total. `keep` emits all rows, `drop` leaves those out whose key came before, and `fail` ends the walk at the first
   * one. A walk that resumes within a partition knows only the keys from there. Default: keys are not compared, which
   * takes no memory.
   */
  readonly repeats?: RepeatAction | undefined;
  /** The keys that were listed before `startAt`, with `repeats`. */
  readonly keys?: ListedKeys | undefined;
  /**
   * When it aborts, the walk cancels its pending requests, emits the pages that it has fetched, and ends as if it were
   * complete. `info.isDrainable` says whether the source does so.
   */
  readonly drain?: AbortSignal | undefined;
  /** Says when each page was received (`receivedAt`). Default: nothing does. */
  readonly clock?: Pick<Clock, 'now'> | undefined;
}

export interface WalkOptions extends PagesOptions {
  readonly startAt: Position;
  readonly concurrency: number;
  readonly prefetch: number;
}

/** Where a walk starts or resumes. */
export type WalkStart = Pick<WalkOptions, 'startAt' | 'newHistory'>;

/** Lists the rows that a walk emits first because the source has stored them, page by page. */
export type ListUncommitted<T> = (start: WalkStart, signal: AbortSignal) => AsyncIterable<readonly T[]>;

/**
 * Partitions that may be done ahead of the first unfinished one, and the bytes of their rows as JSON, by estimate: sinks
 * that write in plan order keep them on the disk, and copy them when that one is done.
 */
const maxPartitionsAhead = 10_000;
const maxBytesAhead = 2 ** 30;

interface WalkPlan<T> extends WalkOptions {
  /** Finds the partitions of a plan that has no fixed number of them. */
  readonly discovery?: Discovery<T>;
}

interface ReceivedPage<T> extends ChainPage<T> {
  readonly receivedAt: number | undefined;
}

/** One pass over a plan. It holds at most `concurrency + prefetch` pages, including pending and current ones. */
export function walk<T>(definition: SourceDefinition<T>, options: WalkPlan<T>): PullIterator<Page<T>> {
  const steps = new Walk(definition, options);
  return cancellable(
    (signal) => steps.next(signal),
    () => steps.stop(),
  );
}

class Walk<T> {
  readonly #definition: SourceDefinition<T>;
  readonly #options: WalkPlan<T>;
  readonly #capacity: number;
  /** The end of the plan, or of the only partition. */
  readonly #end: number;
  /** Aborts when nothing more is to be requested. */
  readonly #requests = new AbortController();
  /** Those that may have more pages. */
  readonly #chains = new Set<PageChain<T>>();
  readonly #busy = new Set<PageChain<T>>();
  readonly #ready: ReceivedPage<T>[] = [];
  /** What is known of the length of rows, to estimate the space of those that are emitted ahead of the plan. */
  readonly #sample = { rows: 0, length: 0 };
  /** Absent if none are compared. */
  readonly #keys: ListedKeys | undefined;
  /** Rows are emitted that are fewer than those received: the positions count both. */
  readonly #isFiltered: boolean;
  /** After the last emitted page. */
  #position: Position;
  #nextPartition: number;
  #discovered: 'some' | 'searching' | 'all' = 'some';
  /** The consumer has a page that it may be processing. */
  #isConsuming = false;
  #failure: { readonly error: unknown } | undefined;
  #wake: () => void = () => undefined;
  #closing: Promise<void> | undefined;

  constructor(definition: SourceDefinition<T>, options: WalkPlan<T>) {
    const { startAt, partition, concurrency, prefetch, drain, repeats, keys = new ListedKeys() } = options;
    const { schema, filter } = definition;
    this.#definition = definition;
    this.#options = options;
    this.#keys = repeats !== undefined && schema.key ? keys : undefined;
    this.#isFiltered = filter !== undefined || (repeats === 'drop' && this.#keys !== undefined);
    this.#capacity = concurrency + prefetch;
    this.#end = partition === undefined ? (definition.partitions ?? 1) : partition + 1;
    // Its chains may mark a repeated page in their positions.
    const plan = hashOfJson(canonicalJson([definition.name, definition.walkIdentity ?? definition.identity]));
    this.#position = { ...structuredClone(startAt), plan };
    this.#nextPartition = startAt.before;
    if (startAt.plan !== undefined && startAt.plan !== plan) this.#fail(otherPlan(definition.name));
    drain?.addEventListener('abort', this.#cancelRequests, { once: true });
    if (drain?.aborted) this.#cancelRequests();
  }

  readonly #cancelRequests = (): void => {
    this.#requests.abort();
    this.#wake();
  };

  async stop(): Promise<void> {
    this.#options.drain?.removeEventListener('abort', this.#cancelRequests);
    this.#cancelRequests();
    await this.#closeDiscovery();
  }

  /** @param stopped aborts when the consumer wants no more */
  async next(stopped: AbortSignal): Promise<IteratorResult<Page<T>, undefined>> {
    this.#isConsuming = false;
    // With a filter, more may be requested by now: that is cancelled.
    if (this.#emitted >= (this.#definition.maxRows ?? Infinity)) return done;
    while (!stopped.aborted) {
      this.#startFetching();
      const page = this.#ready.shift();
      if (page) return { done: false, value: this.#emit(page) };
      // Its pending requests are cancelled, so there may be errors of the cancellation.
      if (this.#options.drain?.aborted) return done;
      if (this.#failure) throw this.#reported(this.#failure.error);
      if (this.#busy.size === 0 && this.#discovered !== 'searching') return done;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
    return done;
  }

  /** Rows that were emitted, by earlier walks to `startAt` as well. */
  get #emitted(): number {
    return this.#position.kept ?? this.#position.rows;
  }

  #emit(page: ReceivedPage<T>): Page<T> {
    this.#isConsuming = true;
    const { items, repeated } = this.#decode(page);
    this.#position = this.#positionAfter(page, items.length, repeated);
    if (page.position === 'done') this.#keys?.end(page.partition);
    this.#startFetching();
    const { partition, position, parent, isIncomplete, increment, receivedAt } = page;
    // That of a parent is not that of all.
    const total = this.#options.discovery ? undefined : page.total;
    return {
      items,
      position: this.#position,
      index: this.#position.pages - 1,
      partition,
      endsPartition: position === 'done',
      ...(parent && { parents: parent.path }),
      ...(total !== undefined && { listed: total, ...(!this.#definition.filter && { total }) }),
      ...(isIncomplete && { isIncomplete }),
      ...(increment && { increment }),
      ...(receivedAt !== undefined && { receivedAt }),
    };
  }

  /**
   * Decodes a page. Of its rows those are emitted that the filter keeps and that are not to be dropped, up to `maxRows`.
   * What is repeated beyond that is not counted.
   */
  #decode(page: ChainPage<T>): { readonly items: readonly T[]; readonly repeated: number } {
    const { name, filter, maxRows = Infinity } = this.#definition;
    const left = maxRows - this.#emitted;
    const items: T[] = [];
    let repeated = 0;
    try {
      for (const row of page.decode()) {
        // Also of rows beyond `maxRows`: the position counts the whole page.
        const isRepeated = this.#isRepeated(row, page);
        if (items.length >= left) continue;
        if (isRepeated) repeated += 1;
        if (isRepeated && this.#options.repeats === 'drop') continue;
        if (!filter || isKept(filter, row, name)) items.push(row);
      }
    } catch (error) {
      throw this.#reported(withParent(error, page.parent));
    }
    return { items, repeated };
  }

  /** Whether the row's partition has listed its key before. @throws PaginationError if that is an error. */
  #isRepeated(row: T, page: ChainPage<T>): boolean {
    if (!this.#keys) return false;
    const { name, schema } = this.#definition;
    const key = keyOf(schema, row);
    const isRepeated = this.#keys.add(page.partition, key);
    if (isRepeated && this.#options.repeats === 'fail') throw repeatedKey(name, page, String(key));
    return isRepeated;
  }

  #positionAfter(page: ChainPage<T>, emitted: number, repeatedNow: number): Position {
    const { begun, rows, pages, totals, repeated = 0 } = this.#position;
    const { partition, position: at, ended } = page;
    const isFiltered = this.#isFiltered;
    const known = begun[partition];
    const repeatedHere = (known?.repeated ?? 0) + repeatedNow;
    if (at !== 'done') {
      if (isFiltered) Object.assign(at, { kept: (known?.kept ?? 0) + emitted });
      if (repeatedHere > 0) Object.assign(at, { repeated: repeatedHere });
    }
    const compared = ended && joinTotals(totals, compare(ended, repeatedHere), this.#whichOf(page));
    const walked =
      at === 'done'
        ? withDone(this.#position, partition, (known?.rows ?? 0) + page.rows)
        : { ...this.#position, begun: { ...begun, [partition]: at } };
    return {
      ...walked,
      rows: rows + (isFiltered ? page.rows : emitted),
      pages: pages + 1,
      ...(isFiltered && { kept: this.#emitted + emitted }),
      ...(repeated + repeatedNow > 0 && { repeated: repeated + repeatedNow }),
      ...(compared && { totals: compared }),
    };
  }

  /** For messages: the partition of a page, if there are several. */
  #whichOf({ partition, parent }: ChainPage<T>): string | undefined {
    const { partitions = 1 } = this.#definition;
    if (parent) return parent.text();
    return partitions > 1 ? `partition ${partition + 1} of ${partitions}` : undefined;
  }

  #startFetching(): void {
    while (this.#hasCapacity()) {
      const chain = this.#idleChain() ?? this.#openPartition();
      if (!chain) return;
      void this.#fetch(chain);
    }
  }

  #hasCapacity(): boolean {
    if (this.#requests.signal.aborted) return false;
    const { maxRows = Infinity } = this.#definition;
    const fetched = this.#isFiltered ? 0 : this.#ready.reduce((sum, { rows }) => sum + rows, 0);
    if (this.#emitted + fetched >= maxRows) return false;
    return this.#busy.size + this.#ready.length + (this.#isConsuming ? 1 : 0) < this.#capacity;
  }

  #idleChain(): PageChain<T> | undefined {
    for (const chain of this.#chains) if (!this.#busy.has(chain)) return chain;
    return undefined;
  }

  /** Opens the next partition, unless the concurrency is used up or it is too far ahead of the first unfinished one. */
  #openPartition(): PageChain<T> | undefined {
    const { concurrency, discovery, cache } = this.#options;
    const { begun, done = [] } = this.#position;
    for (const [first, last] of done) if (this.#nextPartition === first) this.#nextPartition = last + 1;
    const partition = this.#nextPartition;
    if (this.#chains.size >= concurrency || partition >= this.#end || this.#isFarAhead(partition)) return undefined;
    if (discovery && partition >= discovery.count) {
      if (this.#discovered === 'some') void this.#discover(discovery);
      return undefined;
    }
    if (discovery?.mayBegin?.(partition) === false) return undefined;
    this.#nextPartition += 1;
    const parent = discovery?.parentOf(partition);
    const since = parent ? this.#sinceOf(parent, partition) : this.#options.since;
    const chain = new PageChain(this.#definition, { partition, parent, from: begun[partition], since, cache });
    this.#chains.add(chain);
    return chain;
  }

  /** Whether what is done beyond the first unfinished partition takes so much space that no other one may begin. */
  #isFarAhead(partition: number): boolean {
    const { before, begun, done = [] } = this.#position;
    if (partition in begun || partition < before + 2 * this.#options.concurrency) return false;
    if (partition >= before + maxPartitionsAhead) return true;
    const rows = done.reduce((sum, [, , received]) => sum + received, 0);
    return rows * (this.#sample.length / this.#sample.rows) > maxBytesAhead;
  }

  /** The rows that are wanted of a discovered partition. */
  #sinceOf({ mark, window }: ParentRow, partition: number): Since | undefined {
    const { since } = this.#options;
    const own = since?.ofParent?.(mark, partition, window) ?? since;
    return window ? { ...own, from: window.from, to: window.to, isOpen: window.isOpen } : own;
  }

  async #discover(discovery: Discovery<T>): Promise<void> {
    this.#discovered = 'searching';
    const hasMore = await discovery.more().catch((error: unknown) => this.#fail(error));
    this.#discovered = hasMore ? 'some' : 'all';
    this.#startFetching();
    this.#wake();
  }

  async #fetch(chain: PageChain<T>): Promise<void> {
    this.#busy.add(chain);
    try {
      const page = await chain.next(this.#requests.signal);
      this.#tellPage(page);
      this.#add(chain, page);
    } catch (error) {
      this.#fail(withParent(error, chain.parent));
    } finally {
      this.#busy.delete(chain);
      this.#startFetching();
      // So that the next request is sent before the consumer decodes and writes this page.
      if (this.#busy.size > 0) await endTurn();
      this.#wake();
    }
  }

  #add(chain: PageChain<T>, page: ChainPage<T>): void {
    this.#ready.push({ ...page, receivedAt: this.#options.clock?.now() });
    this.#sample.rows += page.rows;
    this.#sample.length += page.rows * page.rowLength;
    if (page.position !== 'done') return;
    this.#chains.delete(chain);
    this.#options.discovery?.ended(chain.partition);
  }

  #tellPage({ partition, page, rows, total, position }: ChainPage<T>): void {
    const { name, endpoint } = this.#definition;
    const isTotal = total !== undefined && !this.#options.discovery;
    notify(endpoint, {
      type: 'page',
      source: name,
      partition,
      page,
      rows,
      ...(isTotal && { total }),
      ...(position === 'done' && { endsPartition: true }),
    });
  }

  /** Nothing more is requested, although the consumer may take a while to get the error. */
  #fail(error: unknown): void {
    this.#failure ??= { error };
    this.#requests.abort();
    // `stop` reports an error of closing.
    this.#closeDiscovery().catch(() => undefined);
  }

  #closeDiscovery(): Promise<void> {
    return (this.#closing ??= this.#options.discovery?.close() ?? Promise.resolve());
  }

  /** Reports an error when the consumer gets it: one that has stopped never does. */
  #reported(thrown: unknown): unknown {
    const { name, endpoint } = this.#definition;
    if (SluiceError.is(thrown)) thrown.position ??= this.#position;
    const error = redactThrown(thrown, endpoint);
    notify(endpoint, { type: 'error', of: 'walk', name, error: reportOf(error) });
    return error;
  }
}

/** Waits until the event loop has sent what was requested in this turn. Browsers send in a process of their own. */
async function endTurn(): Promise<void> {
  if ('setImmediate' in globalThis) await new Promise((resolve) => globalThis.setImmediate(resolve));
}

/** A partition that has ended, as a comparison of one. */
function compare(
  { total, maxTotal, listed: received }: NonNullable<ChainPage<unknown>['ended']>,
  repeated: number,
): StatedTotals {
  const listed = received - repeated;
  if (listed < total) return { partitions: 1, short: 1, total, listed };
  const over = listed > maxTotal && { over: { partitions: 1, total: maxTotal, listed } };
  return { partitions: 1, short: 0, total: 0, listed: 0, ...over };
}

/** @throws what the filter throws; ConfigError unless it returns `true` or `false`, e.g. a promise. */
function isKept<T>(filter: (row: T) => unknown, row: T, name: string): boolean {
  let kept: unknown;
  try {
    kept = filter(row);
  } catch (error) {
    throw sourceFault(error, name, 'filter');
  }
  if (typeof kept === 'boolean') return kept;
  throw new ConfigError(`The filter of ${name} returned ${kindOf(kept)}: it must return true or false.`);
}

/** The error, with the parent that it concerns. */
function withParent(error: unknown, parent: ParentRow | undefined): unknown {
  if (!parent || !SluiceError.is(error)) return error;
  const text = parent.text();
  if (!error.summary.includes(text)) amend(error, `It concerns ${text}.`);
  return Object.assign(error, { details: { ...error.details, parent: text } });
}
