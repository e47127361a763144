import { type Advice, DecodeError, PaginationError, PluginError, SluiceError } from '../errors.js';
import { isRecord, kindOf } from '../values.js';
import type { ChainPosition, PageCursor } from '../position.js';
import type { FetchedPage, SourceDefinition, UndecodedPage } from './definition.js';
import { fingerprintOf, hashOf } from './fingerprint.js';
import { LazyRows } from './lazyRows.js';
import { SeenTexts } from './seenTexts.js';
import { sourceFault } from './sourceFault.js';

/** One page of a chain, before the walk gives it its place among the others. */
export interface ChainPage<T> {
  /** The number of its rows, which are made when they are asked for. */
  readonly rows: number;
  readonly items: () => readonly T[];
  readonly partition: number;
  readonly page: number;
  readonly endsPartition: boolean;
  readonly total: number | undefined;
  /** Where the chain goes on after this page. Worked out when asked for, since few are written down. */
  readonly position: () => ChainPosition | 'done';
}

const maxEmptyPages = 100;
/** Servers refuse addresses of more than 8 to 64 KiB. To look for secrets in a text that is much longer costs seconds, and gigabytes. */
const longestCursor = 16_384;

/** What a position remembers of the pages before it, as fingerprints. */
interface KnownPages {
  first?: string;
  previous?: string;
  landmark?: string;
}

/**
 * One part of a plan: a chain of pages, each found through the one before. It refuses to go in circles.
 *
 * It remembers every page and every cursor as a few bytes (see `SeenTexts`), so that the first page that comes again is refused, wherever a
 * circle begins. A position has no room for that. It keeps three pages: the first, the previous, and a landmark, which is replaced at ever
 * longer distances. A walk that goes in a circle comes by the landmark again within three rounds, however long the circle is and however
 * often the walk was interrupted (Brent, 1980).
 */
export class PageChain<T> {
  readonly partition: number;
  isDone = false;
  readonly #definition: SourceDefinition<T>;
  #next: PageCursor | undefined;
  #pages = 0;
  #rows = 0;
  #offset: number | undefined;
  #empty = 0;
  readonly #seenPages = new SeenTexts();
  readonly #seenCursors = new SeenTexts();
  /** Replaced with each page, and never changed, but for the page that ends the chain by coming again. */
  #known: KnownPages = {};
  /** The API gave a cursor for the next page that it had given for an earlier one. */
  #isCircle = false;
  /** The number of the page that becomes the landmark: a power of two, whatever position a walk went on from. */
  #nextLandmark: number;
  /** The hash of the last row received; known to be none at the beginning of a partition. */
  #lastRow: string | undefined;
  /** The last page had no room beyond the known row, so the next one is asked for without it. */
  #isCrowded = false;

  constructor(definition: SourceDefinition<T>, partition: number, from: ChainPosition | undefined) {
    this.#definition = definition;
    this.partition = partition;
    this.#offset = from ? from.offset : (definition.offset ?? 0);
    this.#nextLandmark = 2 ** Math.ceil(Math.log2((from?.pages ?? 0) + 1));
    if (!from) {
      if (definition.offset) this.#next = { offset: definition.offset };
      return;
    }
    this.#next = from.next;
    this.#pages = from.pages;
    this.#rows = from.rows;
    this.#empty = from.empty ?? 0;
    this.#known = knownPages(from);
    for (const page of [from.first, from.previous, from.landmark]) if (page !== undefined) this.#seenPages.add(page);
    if ('cursor' in from.next) this.#seenCursors.add(from.next.cursor);
    this.#isCircle = from.isCircle === true;
    this.#lastRow = from.lastRow;
  }

  /** Fetches the next page and checks that it is one. */
  async next(signal: AbortSignal): Promise<ChainPage<T>> {
    if (this.#isCircle) throw this.#circle();
    const at = this.#next;
    // Going on by offset reads the last row again: if it is another one now, rows have moved and some would be lost.
    const again = at !== undefined && 'offset' in at && this.#lastRow !== undefined && !this.#isCrowded;
    const fetched = await this.#fetch(again ? { offset: at.offset - 1 } : at, again, signal);
    const late = new LazyRows(fetched, this.#definition.name);
    const { received } = late;
    if (again) this.#checkKnownRow(received);
    else if (this.#isCrowded) this.#checkStep(received);
    const news = again ? received.slice(1) : received;
    this.#checkProgress(news);
    this.#pages += 1;
    this.#rows += news.length;
    if (this.#offset !== undefined) this.#offset += news.length;
    if (news.length > 0) this.#lastRow = hashOf(news.at(-1));
    this.#isCrowded = again && news.length === 0 && fetched.next === 'by-offset';
    this.#next = this.#isCrowded ? at : this.#markAfter(fetched.next, news.length);
    this.isDone = this.#next === undefined;
    return {
      ...{ rows: news.length, items: () => (again ? late.made.slice(1) : late.made) },
      ...{ partition: this.partition, page: this.#pages, endsPartition: this.isDone },
      ...{ total: fetched.total, position: this.#snapshot() },
    };
  }

  async #fetch(
    at: PageCursor | undefined,
    again: boolean,
    signal: AbortSignal,
  ): Promise<FetchedPage<T> | UndecodedPage<T>> {
    try {
      return this.#checkPage(
        await this.#definition.fetch({ partition: this.partition, at, atLeast: again ? 2 : 1, signal }),
      );
    } catch (error) {
      // The same question without a cursor was answered, so it is the cursor that the API refuses: most likely it expired.
      if (at !== undefined && 'cursor' in at && refusal(error) !== undefined) {
        const message = `${this.#name} can't go on: the API refused the cursor of page ${this.#pages + 1} with ${refusal(error)}: it may have expired.`;
        throw new PaginationError('cursor-refused', message, {
          details: { partition: this.partition, status: refusal(error) },
          advice: [{ kind: 'restart-partition' }, { kind: 'restart' }],
          cause: error,
        });
      }
      throw sourceFault(error, this.#name, 'fetch');
    }
  }

  #checkPage(fetched: FetchedPage<T> | UndecodedPage<T>): FetchedPage<T> | UndecodedPage<T> {
    if (isRecord(fetched)) return fetched;
    const other: unknown = fetched;
    const answered = other === undefined ? 'nothing' : kindOf(other);
    throw new PluginError(`${this.#name} failed: its fetch answered ${answered} instead of a page.`);
  }

  #checkKnownRow(received: readonly unknown[]): void {
    if (this.#beginsWithLastRow(received)) return;
    throw this.#fault(
      'rows-moved',
      `the row before page ${this.#pages + 1} is another one now, so rows were added or removed during the walk. Begin again`,
    );
  }

  #checkStep(received: readonly unknown[]): void {
    if (!this.#beginsWithLastRow(received)) return;
    throw this.#fault('no-progress', 'the API says that more rows follow, and sends the last one again');
  }

  #beginsWithLastRow(received: readonly unknown[]): boolean {
    return received.length > 0 && hashOf(received[0]) === this.#lastRow;
  }

  /** Whatever the cursor says: a page that came before is no progress. */
  #checkProgress(received: readonly unknown[]): void {
    const { maxPages } = this.#definition;
    if (maxPages !== undefined && this.#pages >= maxPages)
      throw this.#fault(
        'too-many-pages',
        `there are more than maxPages (${maxPages}) pages. Raise maxPages if that is right`,
      );
    if (received.length === 0) {
      this.#empty += 1;
      if (this.#empty > maxEmptyPages)
        throw this.#fault(
          'no-progress',
          `the API sent ${this.#empty} pages without rows in a row, each saying that more follow`,
        );
      return;
    }
    this.#empty = 0;
    const fingerprint = fingerprintOf(received);
    if (this.#seenPages.has(fingerprint)) {
      const { first, previous } = this.#known;
      const which =
        fingerprint === previous ? 'the page before' : fingerprint === first ? 'the first page' : 'an earlier page';
      // The position before this page gets to know it, or whoever goes on from there would take its rows.
      if (which === 'an earlier page') this.#known.landmark = fingerprint;
      throw this.#fault(
        'no-progress',
        `page ${this.#pages + 1} has the same rows as ${which}: the API ignores its cursor, goes round in a circle, or the cursor expired. If it still does so later, tell the API's operator`,
        [{ kind: 'wait' }, { kind: 'restart' }],
      );
    }
    this.#seenPages.add(fingerprint);
    const { first = fingerprint, landmark = fingerprint } = this.#known;
    const isLandmark = this.#pages + 1 >= this.#nextLandmark;
    if (isLandmark) this.#nextLandmark *= 2;
    this.#known = { first, previous: fingerprint, landmark: isLandmark ? fingerprint : landmark };
  }

  #markAfter(next: FetchedPage<T>['next'], received: number): PageCursor | undefined {
    if (next === 'end') return undefined;
    if (next !== 'by-offset') {
      this.#checkCursor(next.cursor);
      if (this.#definition.endpoint?.isSecret?.(next.cursor))
        throw this.#fault(
          'secret-in-cursor',
          "the API sent a cursor that holds the API key, and cursors are written to checkpoints. Tell the API's operator",
        );
      this.#watchCursor(next.cursor);
      return next;
    }
    if (this.#offset === undefined)
      throw this.#fault(
        'missing-cursor',
        'the API says that more rows follow but gives no cursor, and how many rows lie before is not known. Begin without startAt',
      );
    if (received === 0)
      throw this.#fault('no-progress', 'the API says that more rows follow, gives no cursor and sent none');
    return { offset: this.#offset };
  }

  /**
   * A cursor that comes again leads to a page that was there, also where its rows have changed since. But some APIs have one cursor for a
   * whole listing, or for a while of it, which they move on by themselves: where the cursor is the one just used, the rows alone can tell.
   */
  #watchCursor(cursor: string): void {
    const isSame = this.#next !== undefined && 'cursor' in this.#next && this.#next.cursor === cursor;
    this.#isCircle = !isSame && this.#seenCursors.has(cursor);
    this.#seenCursors.add(cursor);
  }

  #circle(): PaginationError {
    return this.#fault(
      'no-progress',
      `page ${this.#pages} gave a cursor for the next page that an earlier page had given, so the API goes round in a circle and rows would come twice. Tell the API's operator, and wait until it is mended`,
      [{ kind: 'restart' }],
    );
  }

  /** A cursor goes out in an address, and into checkpoints. */
  #checkCursor(cursor: string): void {
    const fault =
      cursor.length > longestCursor
        ? `${cursor.length} characters long, and no server takes an address with more than ${longestCursor}`
        : /\p{Surrogate}/u.test(cursor)
          ? 'a text with half of a character, which no address can say'
          : undefined;
    if (fault === undefined) return;
    throw new DecodeError(
      `${this.#name} can't go on: the API sent a cursor that is ${fault}. Is the base address right?`,
      {
        ...{ partition: this.partition, page: this.#pages, path: 'cursor' },
      },
    );
  }

  #snapshot(): () => ChainPosition | 'done' {
    const next = this.#next;
    const [pages, rows, offset] = [this.#pages, this.#rows, this.#offset];
    const [empty, lastRow] = [this.#empty, this.#lastRow];
    const [known, isCircle] = [this.#known, this.#isCircle];
    if (!next) return () => 'done';
    return () => ({
      next,
      pages,
      rows,
      ...(offset !== undefined && { offset }),
      ...known,
      ...(lastRow !== undefined && { lastRow }),
      ...(empty > 0 && { empty }),
      ...(isCircle && { isCircle }),
    });
  }

  #fault(
    fault: 'no-progress' | 'missing-cursor' | 'rows-moved' | 'too-many-pages' | 'secret-in-cursor',
    what: string,
    advice: readonly Advice[] = [],
  ): PaginationError {
    return new PaginationError(fault, `${this.#name} can't go on: ${what}.`, {
      details: { partition: this.partition, page: this.#pages + 1 },
      advice,
    });
  }

  get #name(): string {
    const { name, partitions = 1 } = this.#definition;
    return partitions === 1 ? name : `${name}, part ${this.partition + 1} of ${partitions},`;
  }
}

/** The status by which an API refuses a request. Asked by code, since a plugin may bring a copy of this package along. */
function refusal(error: unknown): number | undefined {
  const status = SluiceError.is(error, 'http') ? Number(error.details['status']) : 0;
  return [400, 404, 410].includes(status) ? status : undefined;
}

function knownPages({ first, previous, landmark }: ChainPosition): KnownPages {
  return {
    ...(first !== undefined && { first }),
    ...(previous !== undefined && { previous }),
    ...(landmark !== undefined && { landmark }),
  };
}
