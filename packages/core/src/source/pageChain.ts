import { type Advice, amend, DecodeError, PaginationError, PluginError, SluiceError } from '../errors.js';
import { isTransient } from '../isTransient.js';
import { isRecord, kindOf } from '../values.js';
import type { ChainPosition, PageCursor } from '../position.js';
import type { FetchedPage, SourceDefinition, UndecodedPage } from './definition.js';
import type { ParentRow } from './discovery.js';
import type { PageIncrement, Since } from './increment.js';
import { fingerprintOf, fingerprintsOf, hashOf, hashOfJson } from './fingerprint.js';
import { LazyRows } from './lazyRows.js';
import type { PageCache } from './pageCache.js';
import { SeenTexts } from './seenTexts.js';
import { sourceFault } from './sourceFault.js';

/** A page of a chain, before the walk orders it among others. */
export interface ChainPage<T> {
  /** The number of rows, which `items` decodes on demand. */
  readonly rows: number;
  readonly items: () => readonly T[];
  readonly partition: number;
  readonly parent: ParentRow | undefined;
  readonly page: number;
  readonly endsPartition: boolean;
  readonly total: number | undefined;
  /** Of a page that ends the chain: the smallest total that the API has stated, and the rows that it has listed. */
  readonly ended: { readonly total: number; readonly listed: number } | undefined;
  readonly isIncomplete: boolean;
  readonly increment: PageIncrement | undefined;
  /** Where the chain continues. Computed on demand, because few positions are stored. */
  readonly position: () => ChainPosition | 'done';
}

const maxEmptyPages = 100;
/** Pages of which a function made no rows, and which may be behind the end of the listing. */
const maxGuessedPages = 10;
/** Servers refuse URLs of more than 8 to 64 KiB. Searching longer texts for secrets takes seconds and gigabytes. */
const longestCursor = 16_384;

/** Fingerprints of pages that a position stores. */
interface KnownPages {
  first?: string;
  previous?: string;
  landmark?: string;
}

/**
 * The pages of one partition, each found through the one before. It refuses loops.
 *
 * It remembers all pages and cursors as hashes (see `SeenTexts`), so the first repeated page is refused. A position has
 * no space for that. It stores three pages: the first, the previous, and a landmark, which is replaced at doubling
 * distances. Thus even a walk that is interrupted often detects any loop within three rounds (Brent, 1980).
 */
export class PageChain<T> {
  readonly partition: number;
  readonly parent: ParentRow | undefined;
  isDone = false;
  readonly #definition: SourceDefinition<T>;
  readonly #since: Since | undefined;
  readonly #cache: PageCache | undefined;
  #next: PageCursor | undefined;
  #pages = 0;
  #rows = 0;
  #offset: number | undefined;
  #empty = 0;
  /** The smallest one, since rows may be removed during the walk. */
  #total: number | undefined;
  readonly #seenPages = new SeenTexts();
  readonly #seenCursors = new SeenTexts();
  /** Replaced, not modified, with each page; only the page that ends the chain by repeating modifies it. */
  #known: KnownPages = {};
  /** The API repeated the cursor of an earlier page. */
  #isCircle = false;
  /** The page that becomes the landmark: a power of two, whatever position the walk resumed from. */
  #nextLandmark: number;
  /** `undefined` at the start of a partition. */
  #lastRow: LastRow | undefined;
  /** It resumes where each page can be fetched only once: nobody knows which pages the API counts as fetched. */
  readonly #isLost: boolean;
  /** The last page had only the known row, so the next request omits it. */
  #isFilledByKnownRow = false;

  constructor(
    definition: SourceDefinition<T>,
    {
      partition,
      parent,
      from,
      since,
      cache,
    }: {
      partition: number;
      /** Of a partition that is the listing of a row. */
      parent?: ParentRow | undefined;
      from?: ChainPosition | undefined;
      since?: Since | undefined;
      cache?: PageCache | undefined;
    },
  ) {
    this.#definition = definition;
    this.#since = since;
    this.#cache = cache;
    this.partition = partition;
    this.parent = parent;
    this.#isLost = definition.isRepeatable === false && (from?.pages ?? 0) > 0;
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
    this.#total = from.total;
    this.#known = knownPages(from);
    for (const page of [from.first, from.previous, from.landmark]) if (page !== undefined) this.#seenPages.add(page);
    if ('cursor' in from.next) this.#seenCursors.add(from.next.cursor);
    this.#isCircle = from.isCircle === true;
    this.#lastRow = from.lastRow === undefined ? undefined : new LastRow(undefined, from.lastRow);
  }

  /** Fetches and checks the next page. */
  async next(signal: AbortSignal): Promise<ChainPage<T>> {
    if (this.#isCircle) throw this.#loopError();
    if (this.#isLost) throw this.#lostError('an interrupted walk');
    const at = this.#next;
    // Continuing by offset reads the last row again: if it has changed, rows have moved and some would be lost.
    const rereadsLast = at !== undefined && 'offset' in at && this.#lastRow !== undefined && !this.#isFilledByKnownRow;
    const fetched = await this.#fetch(rereadsLast ? { offset: at.offset - 1 } : at, rereadsLast, signal);
    const lazyRows = new LazyRows(fetched, this.#definition.name);
    const { received } = lazyRows;
    if (rereadsLast) this.#checkKnownRow(received);
    else if (this.#isFilledByKnownRow) this.#checkNotRepeated(received);
    const newRows = rereadsLast ? received.slice(1) : received;
    this.#checkProgress(newRows, fetched.isGuess === true);
    this.#checkIncrement(fetched.increment);
    this.#pages += 1;
    this.#rows += newRows.length;
    if (this.#offset !== undefined) this.#offset += newRows.length;
    const { total } = fetched;
    if (total !== undefined) this.#total = Math.min(total, this.#total ?? total);
    this.#isFilledByKnownRow = rereadsLast && newRows.length === 0 && fetched.next === 'by-offset';
    this.#next = this.#isFilledByKnownRow ? at : this.#cursorAfter(fetched.next, newRows.length);
    this.isDone = this.#next === undefined;
    return {
      rows: newRows.length,
      items: () => (rereadsLast ? lazyRows.rows.slice(1) : lazyRows.rows),
      partition: this.partition,
      parent: this.parent,
      page: this.#pages,
      endsPartition: this.isDone,
      total,
      ended: this.isDone ? this.#ended() : undefined,
      isIncomplete: fetched.isIncomplete === true,
      increment: fetched.increment,
      position: this.#snapshot(),
    };
  }

  /** Not of a walk that has only some rows on purpose. */
  #ended(): ChainPage<T>['ended'] {
    const total = this.#total;
    const listed = this.#offset;
    const isPart = this.#since !== undefined || this.#definition.maxRows !== undefined;
    return isPart || total === undefined || listed === undefined ? undefined : { total, listed };
  }

  /** Ends the chain without the rows that it lacks. */
  skip(): ChainPage<T> {
    this.isDone = true;
    return {
      rows: 0,
      items: () => [],
      partition: this.partition,
      parent: this.parent,
      page: this.#pages,
      endsPartition: true,
      total: undefined,
      ended: undefined,
      isIncomplete: true,
      increment: undefined,
      position: () => 'done',
    };
  }

  async #fetch(
    at: PageCursor | undefined,
    rereadsLast: boolean,
    signal: AbortSignal,
  ): Promise<FetchedPage<T> | UndecodedPage<T>> {
    try {
      return this.#checkPage(
        await this.#definition.fetch({
          partition: this.partition,
          at,
          atLeast: rereadsLast ? 2 : 1,
          signal,
          ...(this.#since && { since: this.#since }),
          ...(this.#cache && { cache: this.#cache }),
        }),
      );
    } catch (error) {
      if (this.#definition.isRepeatable === false && at !== undefined && isTransient(error))
        throw this.#lostError('a failed request', error);
      if (at !== undefined && 'cursor' in at && SluiceError.is(error, 'http')) throw this.#refusal(error);
      throw sourceFault(error, this.#name, 'fetch');
    }
  }

  /** What the API said to a request with a cursor of its own. */
  #refusal(error: SluiceError): SluiceError {
    const nth = this.#pages + 1;
    const { status, excerpt } = error.details;
    const details = { partition: this.partition, status };
    const { expiredStatuses = [] } = this.#definition;
    if (status === 410 || expiredStatuses.includes(Number(status))) {
      const said = typeof excerpt === 'string' && excerpt !== '' ? ` ("${excerpt}")` : '';
      const message = `${this.#name} can't continue: the API refused the cursor of page ${nth} with ${String(status)}${said}: it may have expired.`;
      const advice = [{ kind: 'restart-partition' }, { kind: 'restart' }] as const;
      return new PaginationError('cursor-refused', message, { details, advice, cause: error });
    }
    if (status !== 400 && status !== 404 && status !== 422) return error;
    amend(
      error,
      `It was the request for page ${nth}, at a cursor of the API: it may list no more than the pages before. Only if the cursor has expired does it help to start over.`,
    );
    return Object.assign(error, { details: { ...error.details, ...details, page: nth } });
  }

  #checkPage(fetched: FetchedPage<T> | UndecodedPage<T>): FetchedPage<T> | UndecodedPage<T> {
    if (isRecord(fetched)) return fetched;
    const other: unknown = fetched;
    const returned = other === undefined ? 'nothing' : kindOf(other);
    throw new PluginError(`${this.#name} failed: its fetch returned ${returned} instead of a page.`);
  }

  #checkKnownRow(received: readonly unknown[]): void {
    if (this.#beginsWithLastRow(received)) return;
    const isFirst = received.length > 0 && fingerprintOf(received) === this.#known.first;
    throw this.#fault(
      'rows-moved',
      isFirst
        ? `page ${this.#pages + 1} has the rows of the first one, so the API ignores the offset (is its parameter right?), or rows were added during the walk. Start over`
        : `the row before page ${this.#pages + 1} has changed, so rows were added or removed during the walk. Start over`,
    );
  }

  #checkNotRepeated(received: readonly unknown[]): void {
    if (!this.#beginsWithLastRow(received)) return;
    throw this.#fault('no-progress', 'the API says that more rows follow, but sends the last one again');
  }

  #beginsWithLastRow(received: readonly unknown[]): boolean {
    return received.length > 0 && hashOf(received[0]) === this.#lastRow?.hash;
  }

  /** A repeated page is an error, whatever the cursor says. */
  #checkProgress(received: readonly unknown[], isGuess: boolean): void {
    const { maxPages } = this.#definition;
    if (maxPages !== undefined && this.#pages >= maxPages)
      throw this.#fault(
        'too-many-pages',
        `there are more than maxPages (${maxPages}) pages. Raise maxPages if that is right`,
      );
    if (received.length === 0) {
      this.#empty += 1;
      if (this.#empty > (isGuess ? maxGuessedPages : maxEmptyPages))
        throw this.#fault(
          'no-progress',
          isGuess
            ? `the definition's rows function made no rows of ${this.#empty} pages in a row, but these have lists, so it is unknown where the listing ends. If the function leaves rows out, let it return all of them and give the listing a filter; if the lists are others, let it return { rows, at }, with the path of the list that has the rows`
            : `the API sent ${this.#empty} pages without rows in a row, each saying that more follow`,
        );
      return;
    }
    this.#empty = 0;
    const { page: fingerprint, lastRow } = fingerprintsOf(received);
    if (this.#seenPages.has(fingerprint)) {
      const { first, previous } = this.#known;
      const which =
        fingerprint === previous ? 'the page before' : fingerprint === first ? 'the first page' : 'an earlier page';
      // Add it to the position before this page, or a resumed walk would emit its rows.
      if (which === 'an earlier page') this.#known.landmark = fingerprint;
      throw this.#fault(
        'no-progress',
        `page ${this.#pages + 1} has the same rows as ${which}: the API ignores its cursor, repeats its pages, or the cursor expired. If it still does so later, tell the API's operator`,
        [{ kind: 'wait' }, { kind: 'restart' }],
      );
    }
    this.#lastRow = new LastRow(lastRow);
    this.#seenPages.add(fingerprint);
    const { first = fingerprint, landmark = fingerprint } = this.#known;
    const isLandmark = this.#pages + 1 >= this.#nextLandmark;
    if (isLandmark) this.#nextLandmark *= 2;
    this.#known = { first, previous: fingerprint, landmark: isLandmark ? fingerprint : landmark };
  }

  #cursorAfter(next: FetchedPage<T>['next'], received: number): PageCursor | undefined {
    if (next === 'end') return undefined;
    if (next !== 'by-offset') {
      this.#checkCursor(next.cursor);
      if (this.#isSecret(next.cursor))
        throw this.#fault(
          'secret-in-cursor',
          "the API sent a cursor that contains the API key, and cursors are written to checkpoints. Tell the API's operator",
        );
      this.#rememberCursor(next.cursor);
      return next;
    }
    if (this.#offset === undefined)
      throw this.#fault(
        'missing-cursor',
        'the API says that more rows follow but gives no cursor, and the number of rows before it is unknown. Start without startAt',
      );
    if (received === 0)
      throw this.#fault('no-progress', 'the API says that more rows follow, gives no cursor and sent none');
    return { offset: this.#offset };
  }

  /** A mark is one of these values, and checkpoints have those of recent rows. */
  #checkIncrement(increment: PageIncrement | undefined): void {
    if (!increment) return;
    const { latest = '', rows } = increment;
    // One text: no form of a secret has a line break.
    if (this.#isSecret([latest, ...rows.map(([, value]) => value)].join('\n')))
      throw this.#fault(
        'secret-in-cursor',
        "the API sent a row whose value for the next increment contains the API key, and these are written to checkpoints. Tell the API's operator",
      );
  }

  #isSecret(text: string): boolean {
    return this.#definition.endpoint?.isSecret?.(text) === true;
  }

  /**
   * A repeated cursor leads to an earlier page, even if its rows have changed. But some APIs keep one cursor and
   * advance it themselves, so the cursor just used may repeat: its rows tell.
   */
  #rememberCursor(cursor: string): void {
    const isSame = this.#next !== undefined && 'cursor' in this.#next && this.#next.cursor === cursor;
    this.#isCircle = !isSame && this.#seenCursors.has(cursor);
    this.#seenCursors.add(cursor);
  }

  #loopError(): PaginationError {
    return this.#fault(
      'no-progress',
      `page ${this.#pages} gave a cursor for the next page that an earlier page had given, so the API repeats its pages and rows would come twice. Tell the API's operator, and wait until it is fixed`,
      [{ kind: 'restart' }],
    );
  }

  /** A cursor is sent in a URL and stored in checkpoints. */
  #checkCursor(cursor: string): void {
    const fault = faultOf(cursor);
    if (fault === undefined) return;
    throw new DecodeError(
      `${this.#name} can't continue: the API sent a cursor that is ${fault}. Is the base URL right?`,
      { partition: this.partition, page: this.#pages, path: 'cursor' },
    );
  }

  #snapshot(): () => ChainPosition | 'done' {
    const next = this.#next;
    const pages = this.#pages;
    const rows = this.#rows;
    const offset = this.#offset;
    const empty = this.#empty;
    const lastRow = this.#lastRow;
    const total = this.#total;
    const known = this.#known;
    const isCircle = this.#isCircle;
    if (!next) return () => 'done';
    return () => ({
      next,
      pages,
      rows,
      ...(offset !== undefined && { offset }),
      ...known,
      ...(lastRow && { lastRow: lastRow.hash }),
      ...(total !== undefined && { total }),
      ...(empty > 0 && { empty }),
      ...(isCircle && { isCircle }),
    });
  }

  #lostError(where: string, cause?: unknown): PaginationError {
    return new PaginationError(
      'cursor-refused',
      `${this.#name} can't continue after ${where} at page ${this.#pages + 1}: the API sends each page only once.`,
      {
        details: { partition: this.partition },
        advice: [{ kind: 'restart-partition' }, { kind: 'restart' }],
        ...(cause !== undefined && { cause }),
      },
    );
  }

  #fault(
    fault: 'no-progress' | 'missing-cursor' | 'rows-moved' | 'too-many-pages' | 'secret-in-cursor',
    what: string,
    advice: readonly Advice[] = [],
  ): PaginationError {
    return new PaginationError(fault, `${this.#name} can't continue: ${what}.`, {
      details: { partition: this.partition, page: this.#pages + 1 },
      advice,
    });
  }

  get #name(): string {
    const { name, partitions = 1 } = this.#definition;
    if (this.parent) return `${name} of ${this.parent.text()}`;
    const of = Number.isFinite(partitions) ? ` of ${partitions}` : '';
    return partitions === 1 ? name : `${name}, partition ${this.partition + 1}${of},`;
  }
}

/** Why a cursor can't be sent in a URL. */
function faultOf(cursor: string): string | undefined {
  if (cursor.length > longestCursor)
    return `${cursor.length} characters long, and no server accepts a URL with more than ${longestCursor}`;
  return /\p{Surrogate}/u.test(cursor) ? 'a text with half of a character, which no URL can contain' : undefined;
}

/** The last row of a page, as JSON from when it arrived. Hashed on demand, since few positions are stored. */
class LastRow {
  readonly #json: string | undefined;
  #hash: string | undefined;

  constructor(json: string | undefined, hash?: string) {
    this.#json = json;
    this.#hash = hash;
  }

  get hash(): string {
    return (this.#hash ??= hashOfJson(this.#json ?? ''));
  }
}

function knownPages({ first, previous, landmark }: ChainPosition): KnownPages {
  return {
    ...(first !== undefined && { first }),
    ...(previous !== undefined && { previous }),
    ...(landmark !== undefined && { landmark }),
  };
}
