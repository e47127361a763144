import { reportOf } from '../../errorReport.js';
import { ConfigError, SluiceError } from '../../errors.js';
import { type Position, withDone } from '../../position.js';
import { redactThrown } from '../../redactError.js';
import { joinTotals, totalsAtEnd } from '../../totals.js';
import { kindOf } from '../../values.js';
import { cancellable, done, type PullIterator } from './cancellable.js';
import { otherPlan, repeatedKey, sourceFault } from './chainErrors.js';
import type { WalkedSource } from './definition.js';
import { canonicalJson, hashOfJson } from './fingerprint.js';
import { keyOf, ListedKeys } from './listedKeys.js';
import type { Page } from './page.js';
import { type ChainPage, PageChain } from './pageChain.js';
import type { WalkOptions } from './pagesOptions.js';
import type { Partition, PartitionPlan } from './partitionPlan.js';
import { notify } from './sourceEvent.js';

/**
 * How many partitions may be done ahead of the first unfinished one, and the estimated bytes of their rows as JSON.
 * Sinks that write in plan order keep these rows on the disk, and copy them when the unfinished partition is done.
 */
const maxPartitionsAhead = 10_000;
const maxBytesAhead = 2 ** 30;

interface ReceivedPage<T> extends ChainPage<T> {
  readonly receivedAt: number | undefined;
}

/** One pass over a plan. It holds at most `concurrency + prefetch` pages, including pending and current ones. */
export function walk<T>(source: WalkedSource<T>, options: WalkOptions, plan: PartitionPlan<T>): PullIterator<Page<T>> {
  const steps = new Walk(source, options, plan);
  return cancellable(
    (signal) => steps.next(signal),
    () => steps.stop(),
  );
}

class Walk<T> {
  readonly #source: WalkedSource<T>;
  readonly #options: WalkOptions;
  readonly #plan: PartitionPlan<T>;
  readonly #capacity: number;
  /** Aborts when the walk may request nothing more. */
  readonly #requests = new AbortController();
  /** The chains that may have more pages. */
  readonly #chains = new Set<PageChain<T>>();
  readonly #busy = new Set<PageChain<T>>();
  readonly #ready: ReceivedPage<T>[] = [];
  /** Some rows and their JSON length, to estimate the space of rows that are emitted ahead of the plan. */
  readonly #sample = { rows: 0, length: 0 };
  /** Absent if no keys are compared. */
  readonly #keys: ListedKeys | undefined;
  /** The walk may emit fewer rows than it receives, so its positions count both. */
  readonly #isFiltered: boolean;
  /** The position after the last emitted page. */
  #position: Position;
  #nextPartition: number;
  /** The plan is searching for more partitions. */
  #isSearching = false;
  /** The consumer has a page that it may be processing. */
  #isConsuming = false;
  #failure: { readonly error: unknown } | undefined;
  #wake: () => void = () => undefined;
  #closing: Promise<void> | undefined;

  constructor(source: WalkedSource<T>, options: WalkOptions, plan: PartitionPlan<T>) {
    const { startAt, concurrency, prefetch, drain, repeats, keys = new ListedKeys() } = options;
    const { name, schema, filter } = source;
    this.#source = source;
    this.#options = options;
    this.#plan = plan;
    this.#keys = repeats !== undefined && schema.key ? keys : undefined;
    this.#isFiltered = filter !== undefined || (repeats === 'drop' && this.#keys !== undefined);
    this.#capacity = concurrency + prefetch;
    const hash = hashOfJson(canonicalJson([name, source.walkIdentity ?? source.identity]));
    // Chains may mark a repeated page in their positions, so the walk copies the caller's.
    this.#position = { ...structuredClone(startAt), plan: hash };
    this.#nextPartition = startAt.before;
    if (startAt.plan !== undefined && startAt.plan !== hash) this.#fail(otherPlan(name));
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
    await this.#closePlan();
  }

  /** @param stopped aborts when the consumer wants no more */
  async next(stopped: AbortSignal): Promise<IteratorResult<Page<T>, undefined>> {
    this.#isConsuming = false;
    // With a filter, requests for more pages may be pending: the end of the walk cancels them.
    if (this.#emitted >= (this.#source.maxRows ?? Infinity)) return done;
    while (!stopped.aborted) {
      this.#startFetching();
      const page = this.#ready.shift();
      if (page) return { done: false, value: this.#emit(page) };
      // `drain` has cancelled the pending requests, so a failure may come from that.
      if (this.#options.drain?.aborted) return done;
      if (this.#failure) throw this.#reported(this.#failure.error);
      if (this.#busy.size === 0 && !this.#isSearching) return done;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
    return done;
  }

  /** Rows emitted so far, including rows of earlier walks up to `startAt`. */
  get #emitted(): number {
    return this.#position.kept ?? this.#position.rows;
  }

  #emit(page: ReceivedPage<T>): Page<T> {
    this.#isConsuming = true;
    const { items, repeated } = this.#decode(page);
    this.#position = this.#positionAfter(page, items.length, repeated);
    const { partition, position, notes, receivedAt } = page;
    if (position === 'done') this.#keys?.end(partition.number);
    this.#startFetching();
    const total = totalOfAll(page);
    const isFiltered = this.#source.filter !== undefined || this.#options.since?.before !== undefined;
    return {
      items,
      position: this.#position,
      index: this.#position.pages - 1,
      partition: partition.number,
      endsPartition: position === 'done',
      ...partition.marks,
      ...(total !== undefined && { listed: total, ...(!isFiltered && { total }) }),
      ...notes,
      ...(receivedAt !== undefined && { receivedAt }),
    };
  }

  /**
   * Decodes a page. Returns the rows to emit, which the filter keeps and `repeats` does not drop, up to `maxRows`, and
   * how many rows were repeated up to there.
   */
  #decode(page: ChainPage<T>): { readonly items: readonly T[]; readonly repeated: number } {
    const { name, filter, maxRows = Infinity } = this.#source;
    const left = maxRows - this.#emitted;
    const items: T[] = [];
    let repeated = 0;
    try {
      for (const row of page.decode()) {
        // Keys of rows beyond `maxRows` are added as well: the position counts the whole page.
        const isRepeated = this.#isRepeated(row, page);
        if (items.length >= left) continue;
        if (isRepeated) repeated += 1;
        if (isRepeated && this.#options.repeats === 'drop') continue;
        if (!filter || isKept(filter, row, name)) items.push(row);
      }
    } catch (error) {
      throw this.#reported(explained(page.partition, error));
    }
    return { items, repeated };
  }

  /** Whether the row's partition has listed its key before. @throws PaginationError if so, with `repeats: 'fail'`. */
  #isRepeated(row: T, page: ChainPage<T>): boolean {
    if (!this.#keys) return false;
    const { name, schema } = this.#source;
    const key = keyOf(schema, row);
    const { number } = page.partition;
    const isRepeated = this.#keys.add(number, key);
    if (isRepeated && this.#options.repeats === 'fail')
      throw repeatedKey({ name, partition: number, page: page.page }, String(key));
    return isRepeated;
  }

  #positionAfter(page: ChainPage<T>, emitted: number, repeatedNow: number): Position {
    const { begun, rows, pages, totals, repeated = 0 } = this.#position;
    const { partition, position: at, ended } = page;
    const isFiltered = this.#isFiltered;
    const known = begun[partition.number];
    const repeatedHere = (known?.repeated ?? 0) + repeatedNow;
    if (at !== 'done') {
      if (isFiltered) Object.assign(at, { kept: (known?.kept ?? 0) + emitted });
      if (repeatedHere > 0) Object.assign(at, { repeated: repeatedHere });
    }
    const compared = ended && totalsAtEnd(ended, repeatedHere);
    const walked =
      at === 'done'
        ? withDone(this.#position, partition.number, (known?.rows ?? 0) + page.rows)
        : { ...this.#position, begun: { ...begun, [partition.number]: at } };
    return {
      ...walked,
      rows: rows + (isFiltered ? page.rows : emitted),
      pages: pages + 1,
      ...(isFiltered && { kept: this.#emitted + emitted }),
      ...(repeated + repeatedNow > 0 && { repeated: repeated + repeatedNow }),
      ...(compared && { totals: joinTotals(totals, compared, partition.text?.()) }),
    };
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
    const { maxRows = Infinity } = this.#source;
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
    const { begun, done = [] } = this.#position;
    for (const [first, last] of done) if (this.#nextPartition === first) this.#nextPartition = last + 1;
    const partition = this.#nextPartition;
    if (this.#chains.size >= this.#options.concurrency || this.#isFarAhead(partition)) return undefined;
    if (partition >= this.#plan.known) {
      if (!this.#plan.isComplete && !this.#isSearching) void this.#search();
      return undefined;
    }
    if (!this.#plan.mayBegin(partition)) return undefined;
    this.#nextPartition += 1;
    const chain = new PageChain(this.#source, this.#plan.open(partition), begun[partition]);
    this.#chains.add(chain);
    return chain;
  }

  /** Whether the partitions done beyond the first unfinished one take so much space that no other one may begin. */
  #isFarAhead(partition: number): boolean {
    const { before, begun, done = [] } = this.#position;
    if (partition in begun || partition < before + 2 * this.#options.concurrency) return false;
    if (partition >= before + maxPartitionsAhead) return true;
    const rows = done.reduce((sum, [, , received]) => sum + received, 0);
    return rows * (this.#sample.length / this.#sample.rows) > maxBytesAhead;
  }

  async #search(): Promise<void> {
    this.#isSearching = true;
    await this.#plan.more().catch((error: unknown) => this.#fail(error));
    this.#isSearching = false;
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
      this.#fail(explained(chain.partition, error));
    } finally {
      this.#busy.delete(chain);
      this.#startFetching();
      // The next request is sent before the consumer decodes and writes this page.
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
    this.#plan.ended(chain.partition.number);
  }

  #tellPage(received: ChainPage<T>): void {
    const { name, endpoint } = this.#source;
    const { partition, page, rows, position } = received;
    const total = totalOfAll(received);
    notify(endpoint, {
      type: 'page',
      source: name,
      partition: partition.number,
      page,
      rows,
      ...(total !== undefined && { total }),
      ...(position === 'done' && { endsPartition: true }),
    });
  }

  /** Stops requesting at once, although the consumer may take a while to get the error. */
  #fail(error: unknown): void {
    this.#failure ??= { error };
    this.#requests.abort();
    // `stop` reports an error of closing.
    this.#closePlan().catch(() => undefined);
  }

  #closePlan(): Promise<void> {
    return (this.#closing ??= this.#plan.close());
  }

  /** Reports an error when the consumer gets it. A consumer that has stopped never does. */
  #reported(thrown: unknown): unknown {
    const { name, endpoint } = this.#source;
    if (SluiceError.is(thrown)) thrown.position ??= this.#position;
    const error = redactThrown(thrown, endpoint);
    notify(endpoint, { type: 'error', of: 'walk', name, error: reportOf(error) });
    return error;
  }
}

/** Waits until the event loop has sent the requests of this turn. Browsers send from a process of their own. */
async function endTurn(): Promise<void> {
  if ('setImmediate' in globalThis) await new Promise((resolve) => globalThis.setImmediate(resolve));
}

/** The total of the whole source, if the page states it. */
function totalOfAll({ partition, total }: ChainPage<unknown>): number | undefined {
  return partition.hasOwnTotal ? undefined : total;
}

/** @throws the filter's error; ConfigError if it returns anything but `true` or `false`, e.g. a promise. */
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

/** The error, with the parent that it concerns, if the partition has one. */
function explained({ explain }: Pick<Partition<unknown>, 'explain'>, error: unknown): unknown {
  return explain ? explain(error) : error;
}
