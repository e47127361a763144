import { redacted, reportOf } from '../errorReport.js';
import { amend, ConfigError, SluiceError } from '../errors.js';
import { isPosition, type ChainPosition, type Position, type StatedTotals } from '../position.js';
import { PageChain, type ChainPage } from './pageChain.js';
import type { SourceDefinition } from './definition.js';
import type { Discovery, ParentRow, PartitionLog } from './discovery.js';
import type { Since } from './increment.js';
import { pageOf, type Page } from './page.js';
import type { PageCache } from './pageCache.js';
import { tell, type PageEvent, type SourceObserver } from './sourceEvent.js';
import { done, cancellable, type PullIterator } from './cancellable.js';
import { sourceFault } from './sourceFault.js';
import { kindOf } from '../values.js';

export interface WalkOptions {
  readonly startAt: Position;
  /** The only partition to walk, to which `startAt` belongs. */
  readonly partition?: number;
  readonly concurrency: number;
  /** Pages to fetch ahead, beyond one per partition in progress. */
  readonly prefetch: number;
  readonly newHistory?: string;
  readonly since?: Since;
  readonly cache?: PageCache;
  readonly partitionLog?: PartitionLog;
  readonly requireTotal?: boolean;
  readonly onShort?: (totals: StatedTotals) => void;
  /** Ends the walk after the pages that it has fetched. */
  readonly drain?: AbortSignal;
}

interface WalkPlan<T> extends WalkOptions {
  /** Finds the partitions of a plan that has no fixed number of them. */
  readonly discovery?: Discovery<T>;
}

/** One pass over a plan. It holds at most `concurrency + prefetch` pages, including pending and current ones. */
export function walk<T>(
  definition: SourceDefinition<T>,
  options: WalkPlan<T>,
  observe?: SourceObserver,
): PullIterator<Page<T>> {
  const steps = new Walk(definition, options, observe);
  return cancellable(
    () => steps.next(),
    () => steps.stop(),
  );
}

/** A started partition, as of its last emitted page. */
interface StartedPartition {
  readonly isDone: boolean;
  /** Rows that the filter kept. */
  readonly kept: number;
  /** Where it continues. Computed only when it is stored, because it has a cost. */
  readonly position: () => ChainPosition | 'done';
}

class Walk<T> {
  readonly #definition: SourceDefinition<T>;
  readonly #observe: SourceObserver | undefined;
  readonly #only: number | undefined;
  /** The end of the plan, or of the only partition. */
  readonly #partitions: number;
  readonly #discovery: Discovery<T> | undefined;
  readonly #concurrency: number;
  readonly #capacity: number;
  readonly #since: Since | undefined;
  readonly #cache: PageCache | undefined;
  readonly #drained: AbortSignal | undefined;
  readonly #stopped = new AbortController();
  /** Chains that may have more pages, by partition. */
  readonly #chains = new Map<number, PageChain<T>>();
  readonly #busy = new Set<PageChain<T>>();
  readonly #ready: ChainPage<T>[] = [];
  readonly #started = new Map<number, StartedPartition>();
  #before: number;
  #nextPartition: number;
  #rows: number;
  /** Rows that the filter kept; all without one. */
  #kept: number;
  #pages: number;
  #totals: StatedTotals | undefined;
  /** Rows fetched, including those before `startAt`. */
  #rowsFetched: number;
  #isConsuming = false;
  #isStopped = false;
  /** Only pages that are fetched already are emitted. */
  #isDraining = false;
  /** More partitions are being discovered. */
  #isDiscovering = false;
  #areAllDiscovered = false;
  #failure: { readonly error: unknown } | undefined;
  #wake: () => void = () => undefined;
  #closing: Promise<void> | undefined;

  constructor(
    definition: SourceDefinition<T>,
    { startAt, partition, concurrency, prefetch, since, cache, discovery, drain }: WalkPlan<T>,
    observe?: SourceObserver,
  ) {
    this.#definition = definition;
    this.#observe = observe;
    this.#only = partition;
    this.#partitions = partition === undefined ? (definition.partitions ?? 1) : partition + 1;
    this.#discovery = discovery;
    this.#concurrency = concurrency;
    this.#capacity = concurrency + prefetch;
    this.#since = since;
    this.#cache = cache;
    this.#before = startAt.before;
    this.#nextPartition = startAt.before;
    this.#rows = startAt.rows;
    this.#kept = startAt.kept ?? startAt.rows;
    this.#rowsFetched = startAt.rows;
    this.#pages = startAt.pages;
    this.#totals = startAt.totals;
    for (const [partition, at] of Object.entries(startAt.begun))
      this.#started.set(Number(partition), {
        isDone: at === 'done',
        kept: at === 'done' ? 0 : (at.kept ?? 0),
        position: () => at,
      });
    this.#drained = drain;
    drain?.addEventListener('abort', this.#drain, { once: true });
    if (drain?.aborted) this.#drain();
  }

  readonly #drain = (): void => {
    this.#isDraining = true;
    this.#stopped.abort();
    this.#wake();
  };

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#drained?.removeEventListener('abort', this.#drain);
    this.#stopped.abort();
    this.#wake();
    await this.#closeDiscovery();
  }

  async next(): Promise<IteratorResult<Page<T>, undefined>> {
    this.#isConsuming = false;
    // With a filter, more may be requested by now: that is cancelled.
    if (this.#kept >= (this.#definition.maxRows ?? Infinity)) return done;
    for (;;) {
      if (this.#isStopped) return done;
      this.#startFetching();
      const page = this.#ready.shift();
      if (page) return { done: false, value: this.#emit(page) };
      // Its pending requests are cancelled, so there may be errors of the cancellation.
      if (this.#isDraining) return done;
      if (this.#failure) throw this.#reported(this.#located(this.#failure.error));
      if (this.#busy.size === 0 && !this.#isDiscovering) return done;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  #emit(page: ChainPage<T>): Page<T> {
    this.#isConsuming = true;
    const { maxRows = Infinity, filter } = this.#definition;
    const rows = this.#rowsOf(page);
    const items = rows.length > maxRows - this.#kept ? rows.slice(0, maxRows - this.#kept) : rows;
    this.#rows += filter ? page.rows : items.length;
    this.#kept += items.length;
    this.#pages += 1;
    const kept = (this.#started.get(page.partition)?.kept ?? 0) + items.length;
    this.#started.set(page.partition, { isDone: page.endsPartition, kept, position: page.position });
    this.#countFinished();
    if (page.ended) this.#totals = withEnded(this.#totals, page.ended, this.#whichOf(page));
    const index = this.#pages - 1;
    const position = this.#snapshot();
    this.#startFetching();
    const { partition, endsPartition, total, isIncomplete, increment } = page;
    // That of a parent is not that of all.
    const counted = total !== undefined && !this.#discovery && { ...(!filter && { total }), listed: total };
    const told = { ...counted, ...(isIncomplete && { isIncomplete }), ...(increment && { increment }) };
    return pageOf({ items, index, partition, endsPartition }, told, position);
  }

  /** For messages: the partition of a page, if there are several. */
  #whichOf({ partition, parent }: ChainPage<T>): string | undefined {
    const { partitions = 1 } = this.#definition;
    if (parent) return parent.text();
    return partitions > 1 ? `partition ${partition + 1} of ${partitions}` : undefined;
  }

  /** The rows that are kept. */
  #rowsOf(page: ChainPage<T>): readonly T[] {
    const { name, filter } = this.#definition;
    try {
      return filter ? page.items().filter((row) => isKept(filter, row, name)) : page.items();
    } catch (error) {
      throw this.#reported(this.#located(ofParent(error, page.parent)));
    }
  }

  /** Counts finished partitions at the front instead of listing them, so that positions stay small. */
  #countFinished(): void {
    while (this.#started.get(this.#before)?.isDone) {
      this.#started.delete(this.#before);
      this.#before += 1;
    }
  }

  #snapshot(): () => Position {
    const before = this.#before;
    const rows = this.#rows;
    const pages = this.#pages;
    const begun = [...this.#started];
    const kept = this.#kept;
    const totals = this.#totals;
    const isFiltered = this.#definition.filter !== undefined;
    return () => ({
      before,
      begun: Object.fromEntries(
        begun.map(([partition, { position, kept }]) => {
          const at = position();
          return [String(partition), isFiltered && at !== 'done' ? { ...at, kept } : at];
        }),
      ),
      rows,
      pages,
      ...(isFiltered && { kept }),
      ...(totals && { totals }),
      ...(this.#only !== undefined && { partition: this.#only }),
    });
  }

  #startFetching(): void {
    if (this.#failure || this.#stopped.signal.aborted) return;
    while (this.#hasCapacity()) {
      const chain = this.#idleChain() ?? this.#openPartition();
      if (!chain) return;
      void this.#fetch(chain);
    }
  }

  #hasCapacity(): boolean {
    if (this.#failure || this.#stopped.signal.aborted) return false;
    const { filter, maxRows = Infinity } = this.#definition;
    if ((filter ? this.#kept : this.#rowsFetched) >= maxRows) return false;
    return this.#busy.size + this.#ready.length + (this.#isConsuming ? 1 : 0) < this.#capacity;
  }

  #idleChain(): PageChain<T> | undefined {
    for (const chain of this.#chains.values()) if (!this.#busy.has(chain)) return chain;
    return undefined;
  }

  /** Opens the next partition, unless the concurrency is used up or it is too far ahead of the first unfinished one. */
  #openPartition(): PageChain<T> | undefined {
    while (this.#started.get(this.#nextPartition)?.isDone) this.#nextPartition += 1;
    const partition = this.#nextPartition;
    const window = this.#before + 2 * this.#concurrency;
    if (this.#chains.size >= this.#concurrency || partition >= Math.min(this.#partitions, window)) return undefined;
    if (this.#discovery && partition >= this.#discovery.count) {
      if (!this.#isDiscovering && !this.#areAllDiscovered) void this.#discover(this.#discovery);
      return undefined;
    }
    this.#nextPartition += 1;
    const from = this.#started.get(partition)?.position();
    const parent = this.#discovery?.parentOf(partition);
    const since = (parent && this.#since?.ofParent?.(parent.key, partition)) ?? this.#since;
    const chain = new PageChain(this.#definition, {
      partition,
      parent,
      since,
      cache: this.#cache,
      ...(from !== 'done' && { from }),
    });
    this.#chains.set(partition, chain);
    return chain;
  }

  async #discover(discovery: Discovery<T>): Promise<void> {
    this.#isDiscovering = true;
    try {
      this.#areAllDiscovered = !(await discovery.more());
    } catch (error) {
      this.#fail(error);
    } finally {
      this.#isDiscovering = false;
      this.#startFetching();
      this.#wake();
    }
  }

  async #fetch(chain: PageChain<T>): Promise<void> {
    this.#busy.add(chain);
    try {
      const page = await chain.next(this.#stopped.signal);
      this.#rowsFetched += page.rows;
      const told = this.#discovery ? { ...page, total: undefined } : page;
      tell(this.#observe, pageEvent(this.#definition.name, told));
      this.#ready.push(page);
      if (chain.isDone) this.#chains.delete(chain.partition);
    } catch (error) {
      const failed = { partition: chain.partition, signal: this.#stopped.signal };
      if (await this.#discovery?.skips(error, failed)) {
        this.#ready.push(chain.skip());
        this.#chains.delete(chain.partition);
      } else this.#fail(ofParent(error, chain.parent));
    } finally {
      this.#busy.delete(chain);
      this.#startFetching();
      this.#wake();
    }
  }

  /** Nothing more is requested, although the consumer may take a while to hear of it. */
  #fail(error: unknown): void {
    this.#failure ??= { error };
    this.#stopped.abort();
    // A fault of closing is told by `stop`.
    this.#closeDiscovery().catch(() => undefined);
  }

  #closeDiscovery(): Promise<void> {
    return (this.#closing ??= this.#discovery?.close() ?? Promise.resolve());
  }

  /** Reported when the consumer would get it: one that has stopped never does, and a stop is not an error. */
  #reported(thrown: unknown): unknown {
    if (this.#isStopped) return thrown;
    const { name, endpoint } = this.#definition;
    const error = redacted(thrown, endpoint);
    tell(this.#observe, { type: 'error', of: 'walk', name, error: reportOf(error) });
    return error;
  }

  #located(error: unknown): unknown {
    if (SluiceError.is(error)) error.position ??= this.#snapshot()();
    return error;
  }
}

function withEnded(
  totals: StatedTotals | undefined,
  { total, listed }: { readonly total: number; readonly listed: number },
  which: string | undefined,
): StatedTotals {
  const before = totals ?? { partitions: 0, short: 0, total: 0, listed: 0 };
  const partitions = before.partitions + 1;
  if (listed >= total) return { ...before, partitions };
  return {
    partitions,
    short: before.short + 1,
    total: before.total + total,
    listed: before.listed + listed,
    ...(which !== undefined && before.short === 0 && { which }),
  };
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
function ofParent(error: unknown, parent: ParentRow | undefined): unknown {
  if (!parent || !SluiceError.is(error)) return error;
  const text = parent.text();
  if (!error.summary.includes(text)) amend(error, `It concerns ${text}.`);
  return Object.assign(error, { details: { ...error.details, parent: text } });
}

function pageEvent(source: string, { partition, page, rows, total }: ChainPage<unknown>): PageEvent {
  return { type: 'page', source, partition, page, rows, ...(total !== undefined && { total }) };
}

/**
 * Checks a given position, e.g. of a stored error, against a plan, or against one partition of it.
 *
 * @throws ConfigError if it does not fit.
 */
export function checkPosition(position: Position, partitions: number, only?: number): Position {
  const [first, end] = only === undefined ? [0, partitions] : [only, only + 1];
  const isInPlan = (partition: number): boolean => partition >= position.before && partition < end;
  if (
    isPosition(position) &&
    position.partition === only &&
    position.before >= first &&
    position.before <= end &&
    Object.keys(position.begun).map(Number).every(isInPlan)
  )
    return position;
  const whose = isPosition(position) && position.partition !== only ? position.partition : undefined;
  const given = whose === undefined ? '' : ` It is one of partition ${whose} by itself.`;
  const walked = only === undefined ? 'this plan' : `partition ${only} by itself, in a plan`;
  throw new ConfigError(`startAt is not a position of ${walked}, which has ${partitionsText(partitions)}.${given}`);
}

export function partitionsText(partitions: number): string {
  return Number.isFinite(partitions) ? `${partitions} partition(s)` : 'partitions that are discovered';
}
