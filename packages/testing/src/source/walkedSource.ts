import { memoryState, type Page, type PagesOptions, type Position } from '@sluice/core';
import type { PartitionLog } from '@sluice/core/kit';
import { check, checkPlainJson } from '../check.js';
import { Skipped, type Factory, type Trial } from '../suite.js';
import type { Answering, SeenRequests, SentRequest, SourceFixture, TestedSource } from './sourceFixture.js';

/** A source and its API, walked step by step. */
export class WalkedSource {
  readonly source: TestedSource<unknown>;
  readonly trial: Trial;
  /** Creates another source on another API. */
  readonly fresh: () => Promise<WalkedSource>;
  readonly #fixture: SourceFixture<unknown>;
  /** The partitions that the last walk from the start has discovered. */
  #partitionLog = newPartitionLog();

  private constructor(trial: Trial, fixture: SourceFixture<unknown>, fresh: () => Promise<WalkedSource>) {
    this.trial = trial;
    this.fresh = fresh;
    this.#fixture = fixture;
    this.source = fixture.source();
  }

  static async on(trial: Trial, factory: Factory<SourceFixture<unknown>>): Promise<WalkedSource> {
    return new WalkedSource(trial, await trial.own(factory()), () => WalkedSource.on(trial, factory));
  }

  /** Another source on the same API. */
  another(): TestedSource<unknown> {
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

  get areRowsStill(): boolean {
    return this.#fixture.areRowsStill === true;
  }

  async pages(options?: PagesOptions): Promise<Page<unknown>[]> {
    const pages: Page<unknown>[] = [];
    const walk = pull(this.source.pages(this.recorded(options)));
    for (let next = await this.next(walk); !next.done; next = await this.next(walk)) {
      pages.push(next.value);
      check(pages.length <= maxPages, `A walk has more than ${maxPages} pages: give the suite a smaller source.`);
    }
    return pages;
  }

  /** The first page of a walk, which ends there; `undefined` if it has none. */
  async firstPage(options: PagesOptions): Promise<Page<unknown> | undefined> {
    const walk = pull(this.source.pages(options));
    const next = await this.next(walk);
    await walk.return?.();
    return next.done ? undefined : next.value;
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

  /** The requests that a page may take: its own, and one for a page of each level of its parents. */
  get levels(): number {
    return 1 + (this.source.info.levels ?? 0);
  }

  /** All pages of a walk that is long enough for the checks. Skips the check if the source never ends. */
  async manyPages(): Promise<Page<unknown>[]> {
    this.mustEnd();
    const pages = await this.pages();
    const withRows = pages.filter(({ items }) => items.length > 0).length;
    check(
      pages.length >= 3 && withRows >= 2,
      `The suite needs a source of at least three pages, two of them with rows, but this one has ${pages.length}, ${withRows} with rows. If its API has more: does its paging find the next page?`,
    );
    return pages;
  }

  /** The rows after a position that was read from a checkpoint. */
  async rowsBehind(position: Position, options: PagesOptions = {}): Promise<unknown[]> {
    this.mustResume();
    return listRows(await this.pages({ ...options, startAt: reload(position) }));
  }

  /** Skips the check if it needs all rows, and the source never ends. */
  mustEnd(): void {
    if (this.source.info.isEndless) throw new Skipped('a source that ends');
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
  pushedRows(): Promise<unknown[]> {
    const rows: unknown[] = [];
    const all = new Promise<unknown[]>((resolve, reject) => {
      this.source.subscribe({ next: (row) => rows.push(row), error: reject, complete: () => resolve(rows) });
    });
    return this.trial.inTime(all, 'A subscription did not complete');
  }

  next<R>(walk: AsyncIterator<R>): Promise<IteratorResult<R, unknown>> {
    return this.trial.inTime(walk.next(), 'The next page did not arrive');
  }

  /** Waits for a request that stays open. */
  untilOpen(): Promise<void> {
    return this.trial.eventually(() => this.requests.open > 0, 'No request stayed open, though the API answers none');
  }

  untilMade(count: number): Promise<void> {
    return this.trial.eventually(() => this.requests.made >= count, `Request ${count} was not made`);
  }

  untilNoneOpen(what = 'The open request'): Promise<void> {
    return this.trial.eventually(() => this.requests.open === 0, `${what} was not cancelled`);
  }
}

/** A walk that has more pages does not end. */
export const maxPages = 200;

function newPartitionLog(): PartitionLog {
  const state = memoryState();
  return { log: (level) => state.log(`partitions-${level}`), runId: 'trial' };
}

export function pull<R>(flow: AsyncIterable<R>): AsyncIterator<R> {
  return flow[Symbol.asyncIterator]();
}

export function listRows(pages: readonly Page<unknown>[]): unknown[] {
  return pages.flatMap(({ items }) => items);
}

/** A position after a round trip through a checkpoint. */
export function reload(position: Position): Position {
  checkPlainJson(position, "A page's position");
  return structuredClone(position);
}
