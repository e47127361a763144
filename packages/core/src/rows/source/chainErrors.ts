import {
  type Advice,
  amend,
  ConfigError,
  DecodeError,
  PaginationError,
  PluginError,
  type SluiceError,
} from '../../errors.js';
import type { TotalGap } from '../../totals.js';
import { kindOf } from '../../values.js';

/** The page at which a chain can't continue. */
export interface ChainPlace {
  /** The source, with its partition if it has several. */
  readonly name: string;
  readonly partition: number;
  /** The number of the page, from 1. */
  readonly page: number;
}

export function repeatedPage(place: ChainPlace, which: string): PaginationError {
  return chainError(
    'no-progress',
    place,
    `page ${place.page} has the same rows as ${which}: the API ignores its cursor, repeats its pages, or the cursor expired. If the API repeats the last page of a listing, set until: 'repeated-page' (the only page must also be shorter than its pageSize, or have its total). If it still does so later, tell the API's operator`,
    [{ kind: 'wait' }, { kind: 'restart' }],
  );
}

export function repeatedCursor(place: ChainPlace): PaginationError {
  return chainError(
    'no-progress',
    place,
    `page ${place.page - 1} gave a cursor for the next page that an earlier page had given, so the API repeats its pages and rows would come twice. If the listing had ended before, set until. Otherwise tell the API's operator, and wait until it is fixed`,
    [{ kind: 'restart' }],
  );
}

export function repeatedRow(place: ChainPlace): PaginationError {
  return chainError(
    'no-progress',
    place,
    'the API sends the last row again where the rows behind it were requested. Does it ignore the offset (is its parameter right?), or has the listing one page (onePage)? If its total is too large, leave total out',
  );
}

export function movedRows(place: ChainPlace, isFirstPage: boolean): PaginationError {
  return chainError(
    'rows-moved',
    place,
    isFirstPage
      ? `page ${place.page} has the rows of the first one, so the API ignores the offset (is its parameter right?), or rows were added during the walk. Start over`
      : `the row before page ${place.page} has changed, so rows were added or removed during the walk. Start over. If it fails again, the API may count rows from 1 (byOffset with first: 1), or skip only whole pages (byPage)`,
  );
}

export function tooManyPages(place: ChainPlace, maxPages: number): PaginationError {
  return chainError(
    'too-many-pages',
    place,
    `there are more than maxPages (${maxPages}) pages. Raise maxPages if that is right`,
  );
}

export function emptyPages(place: ChainPlace, count: number): PaginationError {
  return chainError(
    'no-progress',
    place,
    `the API sent ${count} pages without rows in a row, each saying that more follow. If the API ends a listing with a page without rows, set until: 'no-rows', or, where even that page says more, a function as more or at of the paging. If its total is too large, leave total out`,
  );
}

export function secretIn(what: 'cursor' | 'row', place: ChainPlace): PaginationError {
  return chainError(
    'secret-in-cursor',
    place,
    what === 'cursor'
      ? "the API sent a cursor that contains the API key, and cursors are written to checkpoints. Tell the API's operator"
      : "the API sent a row whose value for the next increment contains the API key, and these are written to checkpoints. Tell the API's operator",
  );
}

export function unknownOffset(place: ChainPlace): PaginationError {
  return chainError(
    'missing-cursor',
    place,
    'the API says that more rows follow but gives no cursor, and the number of rows before it is unknown. Start without startAt',
  );
}

export function nothingSent(place: ChainPlace): PaginationError {
  return chainError(
    'no-progress',
    place,
    'the API says that more rows follow, gives no cursor and sent none. If its total is too large, leave total out',
  );
}

/** Each page can be fetched only once, and it is unknown whether the API counts this one as fetched. */
export function lostPage({ name, partition, page }: ChainPlace, where: string, cause?: unknown): PaginationError {
  return new PaginationError(
    'cursor-refused',
    `${name} can't continue after ${where} at page ${page}: the API sends each page only once.`,
    {
      details: { partition },
      advice: [{ kind: 'restart-partition' }, { kind: 'restart' }],
      cause,
    },
  );
}

/** Whether the API refused the content of the request, not its caller. */
export function isAboutRequest({ details: { status, means } }: SluiceError): boolean {
  return (status === 400 || status === 404 || status === 422) && (means === undefined || means === 'final');
}

/** The error of a refused request with a cursor of the API. It says whether the cursor may have expired. */
export function refusedCursor({ name, partition, page }: ChainPlace, error: SluiceError): SluiceError {
  const { status, excerpt, means } = error.details;
  const details = { partition, status };
  if (means === 'expired-cursor' || (means === undefined && status === 410)) {
    const said = typeof excerpt === 'string' && excerpt !== '' ? ` ("${excerpt}")` : '';
    const message = `${name} can't continue: the API refused the cursor of page ${page} with ${String(status)}${said}: it may have expired.`;
    const advice = [{ kind: 'restart-partition' }, { kind: 'restart' }] as const;
    return new PaginationError('cursor-refused', message, { details, advice, cause: error });
  }
  if (!isAboutRequest(error)) return error;
  amend(
    error,
    `That is page ${page}, at a cursor of the API: it may list no more than the pages before. Only if the cursor has expired does it help to start over.`,
  );
  return Object.assign(error, { details: { ...error.details, ...details, page } });
}

/** Adds the place in the walk to an error of a paging, which knows only its response. */
export function placedFault(place: ChainPlace, { summary, advice }: SluiceError): PaginationError {
  return chainError('rows-moved', place, `at page ${place.page}, ${summary.replace(/\.$/, '')}`, advice);
}

/** @param place the page that has the cursor */
export function unusableCursor({ name, partition, page }: ChainPlace, why: string): DecodeError {
  return new DecodeError(`${name} can't continue: the API sent a cursor that is ${why}. Is the base URL right?`, {
    partition,
    page,
    path: 'cursor',
  });
}

export function otherPlan(name: string): ConfigError {
  return new ConfigError(
    `startAt is a position of ${name} with other parameters, another page size or definition. Use those again, or leave it out.`,
    { option: 'startAt' },
  );
}

export function notAPage({ name }: ChainPlace, returned: unknown): PluginError {
  const what = returned === undefined ? 'nothing' : kindOf(returned);
  return new PluginError(`${name} failed: its fetch returned ${what} instead of a page.`);
}

/**
 * An error thrown by a source's own code: an object as it is; other values are wrapped, since they have no stack.
 *
 * @param what the function that threw
 */
export function sourceFault(thrown: unknown, name: string, what: 'fetch' | 'decode' | 'filter'): unknown {
  if (typeof thrown === 'object' && thrown !== null) return thrown;
  return new PluginError(`${name} failed: what its ${what} threw is not an Error.`, {
    cause: thrown ?? String(thrown),
    advice: [{ kind: 'see-cause' }],
  });
}

/**
 * The error, or warning, of a finished walk whose listings have fewer or more rows than the API says.
 *
 * @param more text to append to "so 3 may be missing"
 */
export function otherTotal(
  name: string,
  { kind, partitions, total, listed, which }: TotalGap,
  { repeated = 0, more = '', advice = [] }: OtherTotalOptions = {},
): PaginationError {
  const where = partitions > 1 ? ` in ${partitions} partitions` : which === undefined ? '' : ` (${which})`;
  const rows = repeated > 0 ? `${listed} different rows${where}, and ${again(repeated)}` : `${listed}${where}`;
  const outcome =
    kind === 'overTotal'
      ? `which is ${listed - total} more. Were rows added or moved during the walk? Or does the total count something else?`
      : `so ${total - listed} may be missing${more}. ${repeated > 0 ? 'Does it repeat rows in place of others? Does the key not identify a row?' : 'Does it list rows only up to a limit?'} Or does the total count something else?`;
  return new PaginationError(
    'rows-missing',
    `${name}: the API's total of rows is ${total}, but it listed ${rows}, ${outcome}`,
    {
      details: { total, listed, ...(repeated > 0 && { repeated }) },
      advice,
    },
  );
}

interface OtherTotalOptions {
  /** Rows whose key came before. */
  readonly repeated?: number | undefined;
  readonly more?: string;
  readonly advice?: readonly Advice[];
}

/** The warning of a finished walk that listed rows more than once. */
export function repeatedRows(name: string, repeated: number): string {
  return `${name}: the API listed ${again(repeated)}. They are exported, too, unless repeats is set.`;
}

function again(repeated: number): string {
  return repeated === 1 ? '1 row again, by its key' : `${repeated} rows again, by their keys`;
}

/** With `repeats: 'fail'`. */
export function repeatedKey(place: ChainPlace, key: string): PaginationError {
  return chainError(
    'rows-repeated',
    place,
    `page ${place.page} lists the row ${JSON.stringify(key.slice(0, 100))} again. If it is another row, the key does not identify a row`,
    [{ kind: 'set', option: 'repeats' }, { kind: 'restart' }],
  );
}

function chainError(
  code: 'no-progress' | 'missing-cursor' | 'rows-moved' | 'rows-repeated' | 'too-many-pages' | 'secret-in-cursor',
  { name, partition, page }: ChainPlace,
  what: string,
  advice: readonly Advice[] = [],
): PaginationError {
  return new PaginationError(code, `${name} can't continue: ${what}.`, { details: { partition, page }, advice });
}
