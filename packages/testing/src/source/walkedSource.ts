import type { Page, PagesOptions, Position } from '@sluice/core';
import { check, checkPlainJson } from '../check.js';
import { inTime } from '../waiting.js';
import { Skipped, type Trial } from '../suite.js';
import type { Answering, SeenRequests, SourceFixture, TestedSource } from './sourceFixture.js';

/** A source that is walked by hand, and the API behind it. */
export class WalkedSource<T> {
  readonly source: TestedSource<T>;
  readonly #fixture: SourceFixture<T>;
  readonly timeout: number;

  private constructor(fixture: SourceFixture<T>, timeout: number) {
    this.#fixture = fixture;
    this.timeout = timeout;
    this.source = fixture.source();
  }

  static async on<T>(trial: Trial<SourceFixture<T>>): Promise<WalkedSource<T>> {
    return new WalkedSource(await trial.fixture(), trial.timeout);
  }

  /** The same where all rows of the source are needed. */
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

  async pages(options?: PagesOptions): Promise<Page<T>[]> {
    const pages: Page<T>[] = [];
    const walk = pulled(this.source.pages(options));
    for (let next = await this.next(walk); !next.done; next = await this.next(walk)) {
      pages.push(next.value);
      check(pages.length <= maxPages, `A walk has more than ${maxPages} pages: give the suite a smaller source.`);
    }
    return pages;
  }

  /** All pages of a walk that is long enough to tell something. */
  async manyPages(options?: PagesOptions): Promise<Page<T>[]> {
    const pages = await this.pages(options);
    const withRows = pages.filter(({ items }) => items.length > 0).length;
    check(
      pages.length >= 3 && withRows >= 2,
      `The suite needs a source of at least three pages, two of them with rows, but this one has ${pages.length}, ${withRows} with rows.`,
    );
    return pages;
  }

  /** The rows that are left behind a position, as it comes back from a checkpoint. */
  async rowsBehind(position: Position, options: PagesOptions = {}): Promise<T[]> {
    return rowsOf(await this.pages({ ...options, startAt: kept(position) }));
  }

  next<R>(walk: AsyncIterator<R>): Promise<IteratorResult<R, unknown>> {
    return this.inTime(walk.next(), 'The next page did not come');
  }

  inTime<R>(promise: Promise<R>, what: string): Promise<R> {
    return inTime(promise, what, this.timeout);
  }
}

const maxPages = 200;

export function pulled<R>(flow: AsyncIterable<R>): AsyncIterator<R> {
  return flow[Symbol.asyncIterator]();
}

export function rowsOf<T>(pages: readonly Page<T>[]): T[] {
  return pages.flatMap(({ items }) => items);
}

/** A position as a checkpoint gives it back. */
export function kept(position: Position): Position {
  checkPlainJson(position, "A page's position");
  return structuredClone(position);
}
