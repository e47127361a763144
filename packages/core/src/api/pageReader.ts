import { isCount, isList, isRecord, kindOf } from '../values.js';
import { HttpError } from '../errors.js';
import type { ApiResponse } from '../plugins/plugin.js';
import type { ResponseFormat } from '../http/requestDetails.js';
import type { ErrorFinder } from '../http/response/responseError.js';
import type { PageCursor } from '../position.js';
import type { UndecodedPage } from '../source/definition.js';
import { documentReader, doesItFit } from '../source/documentReader.js';
import type { Since } from '../source/increment.js';
import type { Answer, PageAnswer, Selector } from './answer.js';
import { rowDecoder, type RowMaking } from './decodeRows.js';
import { type DocumentPath, documentPath, finder, type Finder } from './documentPath.js';
import { leftOutFault, type Paging } from './paging.js';
import { thrownFault } from './issueText.js';
import { countRead } from './countRead.js';

/** Rows that a function found, and where in the body their list is. */
export interface FoundRows {
  readonly rows: readonly unknown[];
  /**
   * The path of their list, e.g. `data.items`, or `data.items?` if it may be missing where there are no rows. If that is
   * not a list, e.g. `null` or an object, the length of `rows` counts. A page is the last one if its list is empty.
   */
  readonly at: string;
}

/** Where a response has its rows, their total and the next page. */
export interface ResponseSpec<Row> extends RowMaking<Row> {
  /** The list of rows; empty text is the document itself. It must exist, unless the path allows otherwise with `?`. */
  readonly rows: Selector<readonly unknown[] | FoundRows>;
  /** The number of rows in the whole listing, if the API tells: a number, or text of digits. */
  readonly total?: Selector<unknown>;
  readonly paging: Paging;
  /** The format of responses. Default `json`. With `jsonLines`, the document is the list of all lines: `rows: ''`. */
  readonly format?: ResponseFormat;
  /**
   * Finds errors in responses with a success status, e.g. `graphqlErrors()`, before anything else is read. Called again
   * with a page that a link has changed. Default: there are none.
   */
  readonly errors?: ErrorFinder;
}

export interface Requested {
  readonly route: string;
  readonly baseUrl: string;
  readonly path: string;
  /** Where the page starts; absent for the first one. */
  readonly from: PageCursor | undefined;
  /** Whether it starts with the last known row. */
  readonly isAgain: boolean;
  /** The requested page size, if any. */
  readonly rows: number | undefined;
  /** Added to each row before it is decoded; pages are compared without them. */
  readonly fields?: object | undefined;
  /** The rows that the walk asks for; absent for all. */
  readonly since?: Since | undefined;
  /** Wall time in ms, for responses without a `Date`. */
  readonly now?: () => number;
  readonly isSecret?: (text: string) => boolean;
  readonly withoutSecret?: (query: string) => string;
  /** Called with the error of a response that is used in spite of it. */
  readonly onPartial?: (message: string) => void;
  /** Called if the API seems not to be as the definition says. */
  readonly warn?: (message: string) => void;
}

/** Creates a function that reads responses as pages. @throws ConfigError if a path is invalid. */
export function pageReader<Row>(
  spec: ResponseSpec<Row>,
): (answer: ApiResponse, requested: Requested) => UndecodedPage<Row> {
  const list = finder(spec.rows);
  const total = spec.total === undefined ? undefined : finder(spec.total);
  const decode = rowDecoder(spec);
  return (response, requested) => {
    const { route, baseUrl, path, from, isAgain, since = {}, now = () => 0 } = requested;
    const { rows: pageSize, fields, isSecret, withoutSecret = same, onPartial, warn } = requested;
    const read = documentReader(route, isSecret);
    const at = (text: string): unknown => documentPath(text).find(response.body, read);
    const { status, headers, body } = response;
    // One that a stored page can answer does not get here.
    if (status === 304)
      throw new HttpError(
        `${route}: the server responded with 304 (not modified), but there is no stored page that it could stand for. Does the definition or a link send If-None-Match or If-Modified-Since? Leave that out.`,
        { status, excerpt: '', details: { route } },
      );
    const answer: Answer = { status, headers, body, read, at };
    try {
      const error = spec.errors?.({ status, headers, body });
      // Otherwise the transport has refused it, unless a link made this response.
      if (error && error.kind !== 'partial') throw read.fault('', 'it reports an error');
      const found = rowsFound(list, answer);
      const { rows: received } = found;
      const count = total && countAt(total, answer);
      const newRows = received.length - (isAgain && received.length > 0 ? 1 : 0);
      const start = since.from !== undefined && { since: since.from };
      const place = { from, newRows, requested: pageSize, baseUrl, path, withoutSecret, ...start };
      const guess: { isGuess?: true } = {};
      const countItems: PageAnswer['countItems'] = (wanted) => {
        const items = list.isPath ? received.length : itemsOf(list, answer, found, wanted);
        if (!found.at && received.length === 0 && items > 0) guess.isGuess = true;
        return items;
      };
      const items = { rows: received, countItems };
      const next = spec.paging.next({ status, headers, body, read, at, ...items, total: count, ...place });
      if (error) onPartial?.(error.message);
      // In place of a row with an error, GraphQL has null. Offsets count it.
      const rows = error && next !== 'by-offset' ? received.filter((row) => row !== null) : received;
      const page = {
        received: rows,
        next,
        total: count,
        ...guess,
        decode: () => decode(withFields(rows, fields), found.at?.text ?? list.text, read),
      };
      const whole = error ? { ...page, isIncomplete: true as const } : page;
      const { increment } = spec.paging;
      if (!increment) return whole;
      return increment.newRows(whole, {
        since,
        from,
        read,
        warn,
        countItems,
        requested: pageSize,
        at: timeOf(headers, now),
      });
    } catch (error) {
      throw thrownFault(error, '', response.body, read);
    }
  };
}

/** Only objects get fields: the decoder refuses others. */
function withFields(received: readonly unknown[], fields: object | undefined): readonly unknown[] {
  return fields ? received.map((row) => (isRecord(row) ? { ...row, ...fields } : row)) : received;
}

/** When the API responded, by its clock or by ours, whichever is behind (wall time in ms): earlier is safe. */
function timeOf(headers: ApiResponse['headers'], now: () => number): number {
  const date = Date.parse(headers['date'] ?? '');
  return Number.isNaN(date) ? now() : Math.min(date, now());
}

function same(query: string): string {
  return query;
}

/** Rows, and the path of their list if a function names it. */
interface RowsAt {
  readonly rows: readonly unknown[];
  readonly at?: DocumentPath | undefined;
  /** What is there. */
  readonly place?: unknown;
}

/** Only a path may allow a missing list; only a function may name another place. */
function rowsFound(list: Finder, answer: Answer): RowsAt {
  const value = list.find(answer);
  if (list.isPath && value === undefined) return { rows: [] };
  const { rows, at } =
    !list.isPath && isFound(value) ? { rows: value.rows, at: documentPath(value.at) } : { rows: value };
  if (!isList(rows)) {
    const hint = list.isPath ? undefined : doesItFit;
    throw answer.read.fault(at?.text ?? list.text, `it is ${kindOf(rows)}, and not a list`, hint);
  }
  const place = at?.find(answer.body, answer.read);
  if (at && place === undefined && rows.length > 0)
    throw answer.read.fault(
      at.text,
      'there is no such field, but the rows function found rows and names it as their place',
      '',
    );
  return { rows, at, place };
}

/**
 * How many items a `rows` function was given: those at the place that it names, else those of the list that it returns,
 * else of the longest list that it went through, or that the document has.
 */
function itemsOf(
  list: Finder,
  { body, read, ...response }: Answer,
  { rows, at: named, place }: RowsAt,
  { exactly = false }: { readonly exactly?: boolean } = {},
): number {
  if (named) return isList(place) ? Math.max(place.length, rows.length) : rows.length;
  const { longest, areSeveral } = countRead(body, (observed) => {
    const at = (text: string): unknown => documentPath(text).find(observed, read);
    return rowsFound(list, { ...response, body: observed, read, at }).rows;
  });
  if (exactly && areSeveral && longest > rows.length) throw leftOutFault(read);
  return Math.max(longest, rows.length);
}

function isFound(value: unknown): value is { readonly rows: unknown; readonly at: string } {
  return isRecord(value) && 'rows' in value && typeof value['at'] === 'string';
}

function countAt(total: Finder, answer: Answer): number | undefined {
  const value = total.find(answer);
  if (value === undefined || value === null) return undefined;
  const count = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value;
  if (isCount(count)) return count;
  throw answer.read.fault(total.text, `it is ${kindOf(value)}, and not a number of rows`);
}
