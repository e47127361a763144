import { memoryState, type Page, type PagesOptions, type PartitionLog, type Position } from '@sluice/core';
import { check, checkPlainJson } from '../check.js';
import { eventually, inTime } from '../waiting.js';
import { Skipped, type Trial } from '../suite.js';
import type { Answering, SeenRequests, SentRequest, SourceFixture, TestedSource } from './sourceFixture.js';

/** A source and its API, walked step by step. */
export class WalkedSource<T> {
  readonly source: TestedSource<T>;
  readonly #fixture: SourceFixture<T>;
  readonly #timeout: number;
  /** The partitions that the last walk from the start has discovered. */
  #partitionLog = newPartitionLog();

  private constructor(fixture: SourceFixture<T>, timeout: number) {
    this.#fixture = fixture;
    this.#timeout = timeout;
    this.source = fixture.source();
  }

  static async on<T>(trial: Trial<SourceFixture<T>>): Promise<WalkedSource<T>> {
    return new WalkedSource(await trial.fixture(), trial.timeout);
  }

  /** The same for a check that needs all rows. */
  static async thatEnds<T>(trial: Trial<SourceFixture<T>>): Promise<WalkedSource<T>> {
    const walked = await WalkedSource.on(trial);
    if (walked.source.info.isEndless) throw new Skipped('a source that ends');
    return walked;
  }

  /** Another source on the same API. */
  another(): TestedSource<T> {
    return this.#fixture.source();
  }

  get countsRequests(): boolean {
    return this.#fixture.requests !== undefined;
  }

  get requests(): SeenRequests {
    if (!this.#fixture.requests) throw new Skipped('`requests` of the fixture');
    return this.#fixture.requests();
  }

  answer(how: Answering): void {
    if (!this.#fixture.answer) throw new Skipped('`answer` of the fixture');
    this.#fixture.answer(how);
  }

  useUpQuota(seconds: number): void {
    if (!this.#fixture.useUpQuota) throw new Skipped('`useUpQuota` of the fixture');
    this.#fixture.useUpQuota(seconds);
  }

  async pages(options?: PagesOptions): Promise<Page<T>[]> {
    const pages: Page<T>[] = [];
    const walk = pulled(this.source.pages(this.recorded(options)));
    for (let next = await this.next(walk); !next.done; next = await this.next(walk)) {
      pages.push(next.value);
      check(pages.length <= maxPages, `A walk has more than ${maxPages} pages: give the suite a smaller source.`);
    }
    return pages;
  }

  /** The same options for a walk that may start anywhere: a source that discovers its partitions records them. */
  recorded(options: PagesOptions = {}): PagesOptions {
    if (!this.discovers) return options;
    if (options.startAt === undefined) this.#partitionLog = newPartitionLog();
    return { ...options, partitionLog: this.#partitionLog };
  }

  /** Whether its partitions are unknown before a walk. */
  get discovers(): boolean {
    return this.source.info.partitions === Infinity;
  }

  /** All pages of a walk that is long enough for the checks. */
  async manyPages(options?: PagesOptions): Promise<Page<T>[]> {
    const pages = await this.pages(options);
    const withRows = pages.filter(({ items }) => items.length > 0).length;
    check(
      pages.length >= 3 && withRows >= 2,
      `The suite needs a source of at least three pages, two of them with rows, but this one has ${pages.length}, ${withRows} with rows.`,
    );
    return pages;
  }

  /** The rows after a position that was read from a checkpoint. */
  async rowsBehind(position: Position, options: PagesOptions = {}): Promise<T[]> {
    this.mustResume();
    return rowsOf(await this.pages({ ...options, startAt: reloaded(position) }));
  }

  /** Skips the check if a partition can't be resumed. */
  mustResume(): void {
    if (this.source.info.isRepeatable === false) throw new Skipped('a source whose pages can be requested again');
  }

  /** What a walk sends. */
  async sentOn(walk: () => Promise<unknown>): Promise<readonly SentRequest[]> {
    const { length } = this.#sent;
    await walk();
    return this.#sent.slice(length);
  }

  get #sent(): readonly SentRequest[] {
    const { sent } = this.requests;
    if (!sent) throw new Skipped('`sent` of the requests');
    return sent;
  }

  /** The rows that a subscriber receives. */
  pushedRows(): Promise<T[]> {
    const rows: T[] = [];
    const all = new Promise<T[]>((resolve, reject) => {
      this.source.subscribe({ next: (row) => rows.push(row), error: reject, complete: () => resolve(rows) });
    });
    return this.inTime(all, 'A subscription did not complete');
  }

  next<R>(walk: AsyncIterator<R>): Promise<IteratorResult<R, unknown>> {
    return this.inTime(walk.next(), 'The next page did not arrive');
  }

  /** Waits for a request that stays open. */
  untilOpen(): Promise<void> {
    return eventually(
      () => this.requests.open > 0,
      'No request stayed open, though the API answers none',
      this.#timeout,
    );
  }

  untilMade(count: number): Promise<void> {
    return eventually(() => this.requests.made >= count, `Request ${count} was not made`, this.#timeout);
  }

  untilNoneOpen(what = 'The open request'): Promise<void> {
    return eventually(() => this.requests.open === 0, `${what} was not cancelled`, this.#timeout);
  }

  inTime<R>(promise: Promise<R>, what: string): Promise<R> {
    return inTime(promise, what, this.#timeout);
  }
}

const maxPages = 200;

function newPartitionLog(): PartitionLog {
  return { log: memoryState().log('partitions'), runId: 'trial' };
}

export function pulled<R>(flow: AsyncIterable<R>): AsyncIterator<R> {
  return flow[Symbol.asyncIterator]();
}

export function rowsOf<T>(pages: readonly Page<T>[]): T[] {
  return pages.flatMap(({ items }) => items);
}

/** A position after a round trip through a checkpoint. */
export function reloaded(position: Position): Position {
  checkPlainJson(position, "A page's position");
  return structuredClone(position);
}
