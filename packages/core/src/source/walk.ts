import { reportOf } from '../errorReport.js';
import { ConfigError, SluiceError } from '../errors.js';
import { isPosition, type ChainPosition, type Position } from '../position.js';
import { PageChain, type ChainPage } from './pageChain.js';
import type { SourceDefinition } from './definition.js';
import { pageOf, type Page } from './page.js';
import { tell, type PageEvent, type SourceObserver } from './sourceEvent.js';
import { done, cancellable, type PullIterator } from './cancellable.js';
import { afterRequestsSent } from './lazyRows.js';

export interface WalkOptions {
  readonly startAt: Position;
  readonly concurrency: number;
  /** Pages fetched beyond one for each partition that is walked while the consumer is busy. */
  readonly prefetch: number;
  readonly newHistory?: string;
}

/**
 * One pass over a plan. It is pulled: with the page that its consumer is busy with it never holds more than `concurrency + prefetch`
 * pages, requests under way included.
 */
export function walk<T>(
  definition: SourceDefinition<T>,
  options: WalkOptions,
  observe?: SourceObserver,
): PullIterator<Page<T>> {
  if (definition.maxRows !== undefined && options.concurrency > 1)
    throw new ConfigError(
      'maxRows needs concurrency: 1. With a concurrency above 1 it would be chance which rows are the first ones.',
    );
  const steps = new Walk(definition, options, observe);
  return cancellable(
    () => steps.next(),
    () => steps.stop(),
  );
}

/** A partition that was begun, as of the last page given out. */
interface Begun {
  readonly isDone: boolean;
  /** Where it goes on. Working that out has a cost, so only who writes it down asks. */
  readonly position: () => ChainPosition | 'done';
}

class Walk<T> {
  readonly #definition: SourceDefinition<T>;
  readonly #observe: SourceObserver | undefined;
  readonly #parts: number;
  readonly #concurrency: number;
  readonly #capacity: number;
  readonly #stopped = new AbortController();
  /** Chains that may have pages left, by partition. */
  readonly #chains = new Map<number, PageChain<T>>();
  readonly #busy = new Set<PageChain<T>>();
  readonly #ready: ChainPage<T>[] = [];
  readonly #begun = new Map<number, Begun>();
  #before: number;
  #nextPartition: number;
  #rows: number;
  #pages: number;
  /** Rows fetched or given out, of this walk and those it goes on from. */
  #rowsFetched: number;
  #isHeld = false;
  /** A question was begun that may not have left yet. */
  #isRequesting = false;
  #isStopped = false;
  #failure: { readonly error: unknown } | undefined;
  #wake: () => void = () => undefined;

  constructor(
    definition: SourceDefinition<T>,
    { startAt, concurrency, prefetch }: WalkOptions,
    observe?: SourceObserver,
  ) {
    this.#definition = definition;
    this.#observe = observe;
    this.#parts = definition.partitions ?? 1;
    this.#concurrency = concurrency;
    this.#capacity = concurrency + prefetch;
    this.#before = startAt.before;
    this.#nextPartition = startAt.before;
    this.#rows = startAt.rows;
    this.#rowsFetched = startAt.rows;
    this.#pages = startAt.pages;
    for (const [partition, at] of Object.entries(startAt.begun))
      this.#begun.set(Number(partition), { isDone: at === 'done', position: () => at });
  }

  stop(): void {
    this.#isStopped = true;
    this.#stopped.abort();
    this.#wake();
  }

  async next(): Promise<IteratorResult<Page<T>, undefined>> {
    this.#isHeld = false;
    for (;;) {
      this.#startFetching();
      if (this.#ready.length > 0 && this.#isRequesting) {
        // The API is at work on the next page while the rows of this one are made and dealt with.
        this.#isRequesting = false;
        await afterRequestsSent();
        if (this.#isStopped) return done;
      }
      const page = this.#ready.shift();
      if (page) return { done: false, value: this.#giveOut(page) };
      if (this.#failure) throw this.#reported(this.#located(this.#failure.error));
      if (this.#busy.size === 0) return done;
      this.#isRequesting = false;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  #giveOut(page: ChainPage<T>): Page<T> {
    this.#isHeld = true;
    const { maxRows = Infinity } = this.#definition;
    const made = this.#made(page);
    const items = made.length > maxRows - this.#rows ? made.slice(0, maxRows - this.#rows) : made;
    this.#rows += items.length;
    this.#pages += 1;
    this.#begun.set(page.partition, { isDone: page.endsPartition, position: page.position });
    this.#advance();
    const index = this.#pages - 1;
    const position = this.#snapshot();
    this.#startFetching();
    const { partition, endsPartition, total } = page;
    return pageOf(
      { items, index, partition, endsPartition, ...(total !== undefined && { total, listed: total }) },
      position,
    );
  }

  #made(page: ChainPage<T>): readonly T[] {
    try {
      return page.items();
    } catch (error) {
      throw this.#reported(this.#located(error));
    }
  }

  /** Finished partitions at the front are only counted, so that a position stays small. */
  #advance(): void {
    while (this.#begun.get(this.#before)?.isDone) {
      this.#begun.delete(this.#before);
      this.#before += 1;
    }
  }

  #snapshot(): () => Position {
    const [before, rows, pages, begun] = [this.#before, this.#rows, this.#pages, [...this.#begun]];
    return () => ({
      before,
      begun: Object.fromEntries(begun.map(([partition, at]) => [String(partition), at.position()])),
      rows,
      pages,
    });
  }

  #startFetching(): void {
    while (this.#hasRoom()) {
      const chain = this.#idleChain() ?? this.#openPart();
      if (!chain) return;
      this.#isRequesting = true;
      void this.#fetch(chain);
    }
  }

  #hasRoom(): boolean {
    if (this.#failure || this.#stopped.signal.aborted) return false;
    if (this.#rowsFetched >= (this.#definition.maxRows ?? Infinity)) return false;
    return this.#busy.size + this.#ready.length + (this.#isHeld ? 1 : 0) < this.#capacity;
  }

  #idleChain(): PageChain<T> | undefined {
    for (const chain of this.#chains.values()) if (!this.#busy.has(chain)) return chain;
    return undefined;
  }

  /** Begins the next partition, unless the concurrency is used up or it lies too far ahead of the first unfinished one. */
  #openPart(): PageChain<T> | undefined {
    while (this.#begun.get(this.#nextPartition)?.isDone) this.#nextPartition += 1;
    const partition = this.#nextPartition;
    const window = this.#before + 2 * this.#concurrency;
    if (this.#chains.size >= this.#concurrency || partition >= Math.min(this.#parts, window)) return undefined;
    this.#nextPartition += 1;
    const from = this.#begun.get(partition)?.position();
    const chain = new PageChain(this.#definition, partition, from === 'done' ? undefined : from);
    this.#chains.set(partition, chain);
    return chain;
  }

  async #fetch(chain: PageChain<T>): Promise<void> {
    this.#busy.add(chain);
    try {
      const page = await chain.next(this.#stopped.signal);
      this.#rowsFetched += page.rows;
      tell(this.#observe, pageEvent(this.#definition.name, page));
      this.#ready.push(page);
      if (chain.isDone) this.#chains.delete(chain.partition);
    } catch (error) {
      this.#failure ??= { error };
      this.#stopped.abort();
    } finally {
      this.#busy.delete(chain);
      this.#startFetching();
      this.#wake();
    }
  }

  /** Told when it reaches the consumer: who stops before never meets it, and what a stop brings about is no error. */
  #reported(error: unknown): unknown {
    if (!this.#isStopped)
      tell(this.#observe, { type: 'error', of: 'walk', name: this.#definition.name, error: reportOf(error) });
    return error;
  }

  #located(error: unknown): unknown {
    if (SluiceError.is(error)) error.position ??= this.#snapshot()();
    return error;
  }
}

function pageEvent(source: string, { partition, page, rows, total }: ChainPage<unknown>): PageEvent {
  return { type: 'page', source, partition, page, rows, ...(total !== undefined && { total }) };
}

/** Checks a position that came from outside, e.g. from an error that was kept, against a plan. @throws ConfigError if it is of none. */
export function checkPosition(position: Position, partitions: number): Position {
  const isOfPlan = isPosition(position) && position.before <= partitions;
  if (
    isOfPlan &&
    Object.keys(position.begun).every(
      (partition) => Number(partition) >= position.before && Number(partition) < partitions,
    )
  ) {
    return position;
  }
  throw new ConfigError(`startAt is no position of this plan, which has ${partitions} partition(s).`);
}
