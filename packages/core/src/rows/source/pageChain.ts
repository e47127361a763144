import { ConfigError, SluiceError } from '../../errors.js';
import { isTransient } from '../../isTransient.js';
import type { ChainPosition, PageCursor } from '../../position.js';
import { totalsAfter } from '../../totals.js';
import { isRecord } from '../../values.js';
import {
  type ChainPlace,
  emptyPages,
  lostPage,
  notAPage,
  nothingSent,
  placedFault,
  refusedCursor,
  repeatedCursor,
  repeatedPage,
  secretIn,
  sourceFault,
  tooManyPages,
  unknownOffset,
  unusableCursor,
} from './chainErrors.js';
import type { FetchedPage, UndecodedPage, WalkedPages, WalkedSource } from './definition.js';
import { fingerprintsOf, hashOfJson, rowsOfFingerprint } from './fingerprint.js';
import { isProgress, storedText } from './increment.js';
import { type ChainStart, fetchBehindKnownRow } from './knownRow.js';
import { notesOf, type PageNotes } from './page.js';
import type { ChainRequest, Partition } from './partitionPlan.js';
import { Repeats } from './repeats.js';

/** A page of a chain, before the walk orders it among others. */
export interface ChainPage<T> {
  /** The number of rows, and the length of the last row as JSON. */
  readonly rows: number;
  readonly rowLength: number;
  /** Called once, when the walk emits the page. */
  readonly decode: () => readonly T[];
  readonly partition: Partition<T>;
  readonly page: number;
  readonly total?: number | undefined;
  /** On the last page: what the chain has counted, unless it fetches only a part of its listing. */
  readonly ended?: Reached | undefined;
  readonly notes: PageNotes;
  /** Where the chain continues. */
  readonly position: ChainPosition | 'done';
}

type Reached = Omit<ChainPosition, 'next'>;

const maxEmptyPages = 100;
/** Servers refuse URLs of more than 8 to 64 KiB. Searching longer texts for secrets takes seconds and gigabytes. */
const longestCursor = 16_384;

/** The pages of one partition, each found through the one before. */
export class PageChain<T> {
  readonly partition: Partition<T>;
  readonly #source: WalkedSource<T>;
  /** Where the chain resumes. */
  readonly #from: ChainPosition | undefined;
  readonly #repeats: Repeats;
  #position: ChainStart | ChainPosition;
  #memo: unknown;

  constructor(source: WalkedSource<T>, partition: Partition<T>, from: ChainPosition | undefined) {
    const { offset = 0 } = source;
    this.partition = partition;
    this.#source = source;
    this.#from = from;
    this.#repeats = new Repeats(from);
    this.#position = from ?? { next: offset > 0 ? { offset } : undefined, pages: 0, rows: 0, offset };
  }

  /**
   * Fetches the next page, checks it, and finds where the chain continues. A response that means `skip` ends the chain.
   * A later page may be refused for its cursor or its offset alone, so the chain requests the first page again.
   */
  async next(signal: AbortSignal): Promise<ChainPage<T>> {
    this.#checkStart();
    try {
      return await this.#next(signal);
    } catch (error) {
      if (!isSkip(error)) throw error;
      const isSkipped = this.#position.pages === 0 || (await this.#isFirstSkipped(signal));
      if (!isSkipped) throw this.#refused(error, this.#position.next);
      return this.#skip(error);
    }
  }

  async #next(signal: AbortSignal): Promise<ChainPage<T>> {
    const { page, known } = await fetchBehindKnownRow(
      this.#position,
      (at, atLeast) => this.#fetch({ at, atLeast, walked: this.#walked(), signal }),
      () => this.#place(),
    );
    const received = page.received.slice(known);
    const emitted = received.filter((_, index) => !page.leftOut?.has(index + known)).length;
    if (page.isEnd && this.#position.pages === 0)
      this.#warn(
        `the API says that there is no first page of ${this.#text()}. Whether it has no rows is unknown, so the walk is incomplete.`,
      );
    const { reached, rowLength } = this.#check(page, received, emitted);
    this.#memo = page.memo;
    const next = this.#nextCursor(page.next, reached);
    const isCircle = next !== undefined && this.#repeats.addCursor(next, this.#position.next);
    const isPart = this.partition.isPart || this.#source.maxRows !== undefined;
    const position = next && { next, ...reached, ...(isCircle && { isCircle }) };
    if (position) this.#position = position;
    return {
      rows: emitted,
      rowLength,
      decode: () =>
        decodePage(page, this.#source.name).filter((_, index) => index >= known && !page.leftOut?.has(index)),
      partition: this.partition,
      page: reached.pages,
      total: page.total,
      ended: position || isPart ? undefined : reached,
      notes: notesOf(page),
      position: position ?? 'done',
    };
  }

  /** Whether the first page is skipped as well. @throws the error of an outage, which leaves that unknown. */
  async #isFirstSkipped(signal: AbortSignal): Promise<boolean> {
    try {
      const { offset = 0 } = this.#source;
      const at = offset > 0 ? { offset } : undefined;
      await this.#fetch({ at, atLeast: 1, walked: { pages: 0, rows: offset }, signal });
      return false;
    } catch (error) {
      if (isTransient(error)) throw error;
      return isSkip(error);
    }
  }

  /** Ends the chain without the rows that remain. */
  #skip({ summary }: SluiceError): ChainPage<T> {
    const what = this.#position.pages === 0 ? 'its rows' : 'the rest of its rows';
    this.#warn(`skipped ${this.#text()}, so ${what} are missing: ${summary}`);
    return {
      rows: 0,
      rowLength: 0,
      decode: () => [],
      partition: this.partition,
      page: this.#position.pages,
      notes: { isIncomplete: true },
      position: 'done',
    };
  }

  #warn(message: string): void {
    const { name, endpoint } = this.#source;
    endpoint?.warn?.(`${name}: ${message}`);
  }

  /** Names what the chain lists. */
  #text(): string {
    return this.partition.text?.() ?? 'the listing';
  }

  async #fetch(request: ChainRequest): Promise<UndecodedPage<T>> {
    const { at } = request;
    try {
      const page = await this.partition.fetch(request);
      if (!isRecord(page)) throw notAPage(this.#place(), page);
      return asUndecoded(page);
    } catch (error) {
      if (isSkip(error)) throw error;
      if (this.#source.isRepeatable === false && at !== undefined && isTransient(error))
        throw lostPage(this.#place(), 'a failed request', error);
      throw this.#refused(error, at);
    }
  }

  #refused(error: unknown, at: PageCursor | undefined): unknown {
    if (at !== undefined && 'cursor' in at && SluiceError.is(error, 'http')) return refusedCursor(this.#place(), error);
    if (SluiceError.is(error, 'rows-moved') && error.details['partition'] === undefined)
      return placedFault(this.#place(), error);
    return sourceFault(error, this.#place().name, 'fetch');
  }

  #walked(): WalkedPages {
    const { pages, offset: rows, first, total, hash, isStated } = this.#position;
    return {
      pages,
      rows,
      ...(first !== undefined && { firstRows: rowsOfFingerprint(first) }),
      ...(total !== undefined && { total }),
      ...(hash !== undefined && { hash }),
      ...(isStated && { isStated }),
      memo: this.#memo,
    };
  }

  #checkStart(): void {
    if (this.#position.isCircle) throw repeatedCursor(this.#place());
    // It is unknown which pages the API counts as fetched.
    const isResumed = (this.#from?.pages ?? 0) > 0;
    if (isResumed && this.#source.isRepeatable === false) throw lostPage(this.#place(), 'an interrupted walk');
  }

  /** Checks the rows of a page, and adds them to the counts of the position. */
  #check(
    page: UndecodedPage<T>,
    received: readonly unknown[],
    emitted: number,
  ): { readonly reached: Reached; readonly rowLength: number } {
    const { maxPages = Infinity } = this.#source;
    const { pages, rows, offset, lastRow, empty = 0 } = this.#position;
    if (pages >= maxPages) throw tooManyPages(this.#place(), maxPages);
    const hasRows = received.length > 0;
    const isEmpty = !hasRows && !isProgress(page);
    if (isEmpty && empty >= maxEmptyPages) throw emptyPages(this.#place(), empty + 1);
    const last = hasRows ? this.#addPage(received) : undefined;
    const lastHash = last === undefined ? lastRow : hashOfJson(last);
    const stored = storedText(page);
    if (stored !== undefined && this.#isSecret(stored)) throw secretIn('row', this.#place());
    const reached = {
      pages: pages + 1,
      rows: rows + emitted,
      ...(offset !== undefined && { offset: offset + received.length }),
      ...this.#repeats.known,
      ...(lastHash !== undefined && { lastRow: lastHash }),
      ...(page.hash !== undefined && { hash: page.hash }),
      ...(page.isStated && { isStated: page.isStated }),
      ...totalsAfter(this.#position, page.total, received.length),
      ...(isEmpty && { empty: empty + 1 }),
    };
    return { reached, rowLength: last?.length ?? 0 };
  }

  /** Adds a page with rows, and returns the JSON of its last row. A repeated page is an error for any cursor. */
  #addPage(received: readonly unknown[]): string {
    const { page, lastRow } = fingerprintsOf(received);
    const repeated = this.#repeats.addPage(page, this.#position.pages + 1);
    if (repeated === undefined) return lastRow;
    // This marks the consumer's position as well: otherwise a walk that resumes there would emit the rows again.
    if (repeated === 'an earlier page') Object.assign(this.#position, { landmark: page });
    throw repeatedPage(this.#place(), repeated);
  }

  /** Where the chain continues after a page, if it does. A cursor is checked: URLs and checkpoints contain it. */
  #nextCursor(next: UndecodedPage<T>['next'], { pages, offset, empty = 0 }: Reached): PageCursor | undefined {
    if (next === 'end') return undefined;
    if (next === 'by-offset') {
      if (offset === undefined) throw unknownOffset(this.#place(pages + 1));
      if (empty > 0) throw nothingSent(this.#place(pages + 1));
      return { offset };
    }
    const why = unusable(next.cursor);
    if (why !== undefined) throw unusableCursor(this.#place(pages), why);
    if (this.#isSecret(next.cursor)) throw secretIn('cursor', this.#place(pages + 1));
    return next;
  }

  #isSecret(text: string): boolean {
    return this.#source.endpoint?.isSecret?.(text) === true;
  }

  /** @param page default: the next one */
  #place(page = this.#position.pages + 1): ChainPlace {
    return { name: this.partition.place(), partition: this.partition.number, page };
  }
}

/** Whether `responses` map the error of a request to `skip`, which ends its partition. */
function isSkip(error: unknown): error is SluiceError {
  return SluiceError.is(error, 'http') && error.details['means'] === 'skip';
}

function asUndecoded<T>(page: FetchedPage<T> | UndecodedPage<T>): UndecodedPage<T> {
  if ('decode' in page) return page;
  const { rows, received = rows, ...others } = page;
  return { ...others, received, decode: () => rows };
}

/**
 * Decodes the rows of a page. Called once, when the walk emits it: a decoder may modify its input, and pages that
 * nobody takes are never decoded.
 *
 * @throws the decoder's error; ConfigError if it does not return one row for each received one.
 */
function decodePage<T>(page: UndecodedPage<T>, source: string): readonly T[] {
  const { length } = page.received;
  let rows: readonly T[];
  try {
    rows = page.decode();
  } catch (error) {
    throw sourceFault(error, source, 'decode');
  }
  if (rows.length === length) return rows;
  throw new ConfigError(
    `${source} received ${length} row(s) and returned ${rows.length}. Return one row for each: positions count received rows.`,
  );
}

/** Why a cursor can't be sent in a URL. */
function unusable(cursor: string): string | undefined {
  if (cursor.length > longestCursor)
    return `${cursor.length} characters long, and no server accepts a URL with more than ${longestCursor}`;
  return /\p{Surrogate}/u.test(cursor) ? 'a text with half of a character, which no URL can contain' : undefined;
}
