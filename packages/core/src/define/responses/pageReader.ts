import type { Clock } from '../../clock.js';
import { amend, HttpError, SluiceError } from '../../errors.js';
import type { ResponseFormat } from '../../http/requestDetails.js';
import type { BodyParser } from '../../http/response/parsedBody.js';
import { quote } from '../../http/response/statusFault.js';
import type { ApiResponse, Endpoint } from '../../plugins/plugin.js';
import type { PageCursor } from '../../position.js';
import type { PageRequest, UndecodedPage } from '../../rows/source/definition.js';
import { documentReader, doesItFit } from './documentReader.js';
import { isList, isRecord, kindOf } from '../../values.js';
import type { ReadableResponse, PageResponse, Selector } from './pageResponse.js';
import { rowDecoder, type RowMaking } from './decodeRows.js';
import { documentErrors, documentMessages } from './documentMessages.js';
import { documentPath, finder, readCount, rowsPath } from './documentPath.js';
import { thrownFault } from './issueText.js';
import type { FirstRequest } from '../pages/lostParams.js';
import type { Paging } from '../pages/paging.js';
import type { RowParts } from './rowParts.js';
import { type EndSpec, endsAt, pageHash, PageSizes, type Until } from '../pages/until.js';

/** Rows that a function found, and the place of their list in the body. */
export interface FoundRows {
  readonly rows: readonly unknown[];
  /**
   * The path of the rows' list, e.g. `data.items`, or `data.items?` if it may be missing without rows. A page with an
   * empty list is the last one. If the value is not a list, e.g. `null` or an object, the length of `rows` counts.
   */
  readonly at: string;
}

/** Where a response has its rows, their total and the next page. */
export interface ResponseSpec<Row> extends RowMaking<Row> {
  /**
   * The path of the list of rows; empty text is the document itself. The list must exist, unless the path allows
   * otherwise with `?` and the document has no error in its place. With `[*]` the path selects a row in each item of a
   * list, e.g. `items[*].node` or `groups[*].members[*]`; the outermost list tells whether a page was full or the last
   * one. Or a function that returns the rows and that path.
   */
  readonly rows: string | ((response: ReadableResponse) => FoundRows);
  /** The number of rows in the whole listing, if the API states it: a number, or text of digits. */
  readonly total?: Selector<unknown>;
  readonly paging: Paging;
  /**
   * How the listing ends if the API does not say which page is the last one: `short-page`, `no-rows`, `repeated-page`,
   * or a function of the page. Default: only `paging` ends it.
   *
   * @example const until: Until = ({ at }) => at('status') === 'complete';
   */
  readonly until?: Until;
  /** The format of responses. Default `json`. With `jsonLines`, the document is the list of all lines: `rows: ''`. */
  readonly format?: ResponseFormat;
  /**
   * Parses the text of a response, instead of `format`, e.g. CSV, XML by a library, or JSON after a prefix. It is
   * synchronous, and returns values that JSON can represent, as large and as deep as a body may be. If it throws, the
   * response counts as broken: it is retried like a 503, and the error is never quoted. It needs `version`.
   *
   * @example const parse: BodyParser = (text) => parseJson(text.replace(")]}'", ''));
   */
  readonly parse?: BodyParser;
}

/** Observations of one walk. Another walk starts without them: the API may allow it fewer rows, or leave out others. */
export interface WalkMemory {
  readonly sizes: PageSizes;
  /** The warnings that this walk has emitted. */
  readonly warned: Set<string>;
}

export function newWalkMemory(): WalkMemory {
  return { sizes: new PageSizes(), warned: new Set() };
}

/** The request that a response answers. */
export interface RequestedPage extends Pick<PageRequest, 'walked' | 'since'> {
  readonly path: string;
  readonly first: FirstRequest;
  /** Whether the API said that the listing ended before this page. */
  readonly isEnd?: boolean;
  /** Whether the definition says that the response is the requested page, whatever else it has. */
  readonly isMeant?: boolean;
  /** Where the page starts; absent for the first one. */
  readonly from: PageCursor | undefined;
  /** Whether the page starts with the last known row. */
  readonly isAgain: boolean;
  /** The requested number of rows, if any. */
  readonly pageSize: number | undefined;
  readonly seen: WalkMemory;
  /** Fields that are added to each row before it is decoded; pages are compared without them. */
  readonly fields?: object | undefined;
}

/** Reads a response as a page, whose rows are decoded on demand. @throws DecodeError. */
export type ReadPage<Row> = (response: ApiResponse, requested: RequestedPage) => UndecodedPage<Row>;

/** The parts of an API that reading needs. */
export interface ReadingApi {
  /** The name of the source. */
  readonly name: string;
  readonly endpoint: Pick<Endpoint, 'baseUrl' | 'isSecret' | 'redact' | 'withoutSecret' | 'warn'>;
  readonly clock: Pick<Clock, 'now'>;
}

/** Creates the reader of a listing, which is then opened for an API. @throws ConfigError if a path is invalid. */
export function pageReader<Row>({
  rows,
  total: totalAt,
  paging,
  until,
  pageSize: sizes,
  ...making
}: ResponseSpec<Row> & RowParts<Row> & EndSpec): (api: ReadingApi) => ReadPage<Row> {
  const end = { until, paging, pageSize: sizes };
  const findRows = rowFinder(rows);
  const isPath = typeof rows === 'string';
  const total = totalAt === undefined ? undefined : finder(totalAt);
  const { decode, isRow } = rowDecoder(making);
  return ({ name, endpoint, clock }) => {
    const { baseUrl } = endpoint;
    const read = documentReader(name, (text) => endpoint.isSecret(text));
    const doubts = new Set<string>();
    const warn = (message: string, warned = doubts): void => {
      if (!warned.has(message)) endpoint.warn(`${name}: ${message}`);
      warned.add(message);
    };
    // Only the last message is kept: an API may word each error differently, and a watch never ends.
    let reported: string | undefined;
    const warnOfPart = (message: string): void => {
      if (message !== reported)
        endpoint.warn(
          `${name}: the API reports an error beside the rows, so some may be missing${quoteMessage(message)}.`,
        );
      reported = message;
    };
    return ({ status, headers, body, partial }, requested) => {
      const { path, first, from, isEnd = false, isMeant, isAgain, pageSize, walked, seen, fields } = requested;
      const { since = {} } = requested;
      // A 304 that a stored page can answer does not get here.
      if (status === 304)
        throw new HttpError(
          `${name}: the server responded with 304 (not modified), but there is no stored page that it could stand for. Does the definition or a link send If-None-Match or If-Modified-Since? Leave that out.`,
          { status, excerpt: '', details: { route: name } },
        );
      const at = (text: string): unknown => documentPath(text).find(body, read);
      const response: ReadableResponse = { status, headers, body, read, at };
      try {
        // A 205 must have no content (RFC 9110, 15.3.6). If a server sends content nevertheless, it has rows.
        const hasDocument = !isEnd && !(hasNoContent(status) && body === null);
        const found = hasDocument
          ? findOrQuote(findRows, response, { endpoint, mayBeEmpty: isMeant ?? partial !== undefined, isPath })
          : isEnd
            ? lastRows(findRows, response)
            : noRows;
        const count = hasDocument && total ? readCount('rows', total, response) : undefined;
        // Not made by spreading: V8 would make hidden classes for each page.
        const pageResponse: PageResponse = {
          status,
          headers,
          body,
          read,
          at,
          rows: found.rows,
          items: found.items,
          newRows: found.rows.length - (isAgain && found.rows.length > 0 ? 1 : 0),
          total: count,
          from,
          firstRows: walked.firstRows,
          requested: pageSize,
          baseUrl,
          path,
          first,
          redact: (text) => endpoint.redact(text),
          withoutSecret: (address) => endpoint.withoutSecret(address),
          since: since.from,
          warn: (message) => warn(message),
          warnIfFull(ifSo) {
            if (from === undefined && found.items === pageSize)
              warn(
                `the only page has exactly the ${found.items} rows that were requested, so there may be more. If so, ${ifSo}; otherwise raise pageSize.`,
              );
          },
        };
        // Without a document, only headers can say that more follow.
        const isOver = isEnd || (!hasDocument && !paging.reads?.length);
        const next = isOver ? 'end' : paging.next(pageResponse);
        const hash = pageHash(end, pageResponse);
        const isPartial = partial !== undefined;
        const isNamed = until === undefined && paging.namesNext === true;
        const isStated = next !== 'end' && !isNamed && paging.more?.(pageResponse) === true;
        const ends =
          next === 'end' || isPartial
            ? undefined
            : endsAt(end, { response: pageResponse, walked, hash, sizes: seen.sizes });
        const counted = (page: UndecodedPage<Row>): UndecodedPage<Row> => {
          if (!isPartial) seen.sizes.add(pageResponse, walked, page);
          if (seen.sizes.unevenness !== undefined) warn(seen.sizes.unevenness);
          return page;
        };
        if (ends === 'before') return counted({ ...withoutRows, total: count });
        if (isPartial) warnOfPart(partial);
        const isUnknown = isEnd && walked.pages === 0;
        // In place of a row with an error, GraphQL has null, other APIs have the error. Offsets count both.
        const isSaid = (row: unknown): boolean => documentErrors(row, true) !== '' && !isRow(row, fields);
        const received =
          (isPartial || isEnd) && next !== 'by-offset'
            ? found.rows.filter((row) => !(isPartial && row === null) && !isSaid(row))
            : found.rows;
        const made: UndecodedPage<Row> = {
          received,
          next: ends ? 'end' : next,
          total: count,
          hash,
          isStated: isStated ? true : undefined,
          isIncomplete: isPartial || isUnknown ? true : undefined,
          isEnd: isEnd ? true : undefined,
          decode: () => decode(received, { path: found.path, read, fields }, (text) => quote(text, endpoint)),
        };
        if (!paging.increment || (isEnd && received.length === 0)) return counted(made);
        const page = paging.increment.newRows(made, {
          since,
          from,
          read,
          warn: (message) => warn(message, seen.warned),
          items: found.items,
          isAgain,
          walked,
          requested: pageSize,
          at: timeOf(headers, clock.now()),
        });
        return counted(page);
      } catch (error) {
        throw thrownFault(error, '', body, read);
      }
    };
  };
}

/** Creates a test of whether an item of a document that is a list is a row, or has one. */
export function rowTest<Row>({
  rows,
  ...making
}: Pick<ResponseSpec<Row>, 'rows'> & RowMaking<Row> & RowParts<Row>): (item: unknown, fields?: object) => boolean {
  const findRows = rowFinder(rows);
  const { isRow } = rowDecoder(making);
  const read = documentReader('');
  return (item, fields) => {
    const body = [item];
    const response = {
      status: 200,
      headers: {},
      body,
      read,
      at: (path: string) => documentPath(path).find(body, read),
    };
    try {
      const found = findRows(response, () => undefined).rows;
      return found.length > 0 && found.every((row) => isRow(row, fields));
    } catch {
      return false;
    }
  };
}

const withoutRows = { received: [], next: 'end', decode: () => [] } as const;

export function hasNoContent(status: number): boolean {
  return status === 204 || status === 205;
}

const noRows: ListedRows = { rows: [], path: '', items: 0 };

/** The rows of a response that ends the listing: an error has no rows, and other documents may have no list. */
function lastRows(find: FindRows, response: ReadableResponse): ListedRows {
  if (response.status >= 300) return noRows;
  try {
    return find(response, () => undefined);
  } catch {
    return noRows;
  }
}

/** When the API responded, by its clock or ours, whichever is earlier (wall time in ms): an earlier time is safe. */
function timeOf(headers: ApiResponse['headers'], now: number): number {
  const date = Date.parse(headers['date'] ?? '');
  return Number.isNaN(date) ? now : Math.min(date, now);
}

interface ListedRows {
  readonly rows: readonly unknown[];
  /** The path of the rows' list. */
  readonly path: string;
  /** The length of that list; with `[*]`, of the outermost list. */
  readonly items: number;
}

/** Finds rows. `refuse` is called with a value that lacks optional rows: it throws if the value has an error. */
type FindRows = (
  response: ReadableResponse,
  refuse: (owner: unknown, place: string, isAlone: boolean) => void,
) => ListedRows;

/**
 * Finds rows, or quotes the API. A response without rows may report an error in spite of its success status, e.g.
 * `{"ok":false,"error":"missing_scope"}`: that is not an empty listing.
 */
function findOrQuote(
  findRows: FindRows,
  response: ReadableResponse,
  {
    endpoint,
    mayBeEmpty,
    isPath,
  }: { readonly endpoint: ReadingApi['endpoint']; readonly mayBeEmpty: boolean; readonly isPath: boolean },
): ListedRows {
  let saying: unknown = response.body;
  try {
    return findRows(response, (owner, place, isAlone) => {
      if (mayBeEmpty || documentErrors(owner, isAlone) === '') return;
      saying = owner;
      throw response.read.fault(place, 'it has an error, and no rows', notEmpty);
    });
  } catch (error) {
    // Where a path finds no row in an item of a list, the place begins with the item. A function may refuse a row.
    const [, nth] = SluiceError.is(error) ? (/^\[(\d+)\]/.exec(String(error.details['path'])) ?? []) : [];
    if (isPath && isList(response.body) && nth !== undefined) saying = response.body[Number(nth)];
    const said = SluiceError.is(error, 'decode') ? quote(documentMessages(saying), endpoint) : '';
    if (said !== '' && SluiceError.is(error)) amend(error, `The document says: "${said}".`);
    throw error;
  }
}

const notEmpty = "Say in `responses` what it means, e.g. 'retry', or 'ok' if only that there are no rows.";

/** Only a path may allow a missing list. @throws ConfigError if the path is invalid. */
function rowFinder(where: ResponseSpec<unknown>['rows']): FindRows {
  if (typeof where === 'function') return (response) => checkFoundRows(where(response), response);
  const path = rowsPath(where);
  return ({ body, read }, refuse) => {
    const found = path.find(body, read, (owner, place) => refuse(owner, place, place === ''));
    if (found.rows.length === 0) refuse(body, path.text, false);
    return { path: path.text, ...found };
  };
}

/** Checks the rows that a function found: a function in JavaScript may return anything. */
function checkFoundRows(found: unknown, { body, read }: ReadableResponse): ListedRows {
  if (!isRecord(found) || typeof found['at'] !== 'string')
    throw read.fault(
      '',
      `its rows function returned ${kindOf(found)}. It must return { rows, at }, with the path of the list that has the rows`,
      '',
    );
  const { rows, at } = found;
  const { text: path, find } = documentPath(at);
  if (!isList(rows)) throw read.fault(path, `it is ${kindOf(rows)}, and not a list`, doesItFit);
  const list = find(body, read);
  if (list === undefined && rows.length > 0)
    throw read.fault(path, 'there is no such field, but the rows function found rows and names it as their place', '');
  return { rows, path, items: isList(list) ? Math.max(list.length, rows.length) : rows.length };
}

const longestQuote = 500;

/** Omits a message that is too long to search for secrets: if cut, it could end with half of one. */
function quoteMessage(message: string): string {
  return message.length > longestQuote ? '' : `: ${JSON.stringify(message)}`;
}
