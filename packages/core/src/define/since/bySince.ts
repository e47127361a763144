import { checkCount, checkOptions, hintFor } from '../../checks.js';
import { ConfigError } from '../../errors.js';
import { ExactNumber } from '../../json.js';
import { shownText } from '../../values.js';
import { documentPath } from '../responses/documentPath.js';
import { pageByValue } from './pageByValue.js';
import { pageInside, type SinceOrder } from './pageInside.js';
import type { IncrementalPaging, PageAddress, Paging, SinceBounds } from '../pages/paging.js';
import {
  joinPlaces,
  type NoPlace,
  parsePlace,
  placeKinds,
  type Placing,
  type RequestPlace,
} from '../requests/requestPlace.js';
import { givenValue, type SinceField } from './sinceField.js';
import { type SinceRule, sinceRule, type SinceType, sinceTypes } from './sinceValue.js';
import { fillSlot } from './sinceSlot.js';
import { sinceWindows, type WindowOptions } from './sinceWindows.js';
import { isLocal, isTimeFormat } from './timeFormat.js';
import { timeZone } from './timeZone.js';
import { changesClock, type SinceWriting, writesEnd, writeSince, writtenTimes } from './writeSince.js';

/** Options of {@link bySince}. */
export type SinceOptions = SinceFieldOptions &
  (
    | (RequestPlace & {
        /**
         * In which order the API lists rows, by their values. Default `ascending`. `newest-first`: an increment ends at
         * a page whose rows are all older. `any`: an increment walks all pages, for APIs without filter or order. Both
         * need `paging`, and no place if the API has no filter; `any` is only for times.
         */
        readonly order?: 'ascending';
        /**
         * How the listing continues from page to page, e.g. `byOffset(…)`. Default: each page is requested with the
         * value of the last row, so moved rows do no harm. With offsets, an export walks the listing again if rows have
         * moved, three times at most. With page numbers or cursors of the API, moved rows are not noticed.
         */
        readonly paging?: Paging;
      })
    | ((RequestPlace | NoPlace) & {
        readonly order: 'newest-first' | 'any';
        readonly paging: Paging;
      })
  );

interface SinceFieldOptions {
  /** The value's path in a row as it was received, e.g. `updated_at`. */
  readonly field: string;
  /**
   * The type of the values: `instant` (a date with time and zone, as in RFC 3339 or RFC 5322), `datetime` (without a
   * zone), `date`, `epoch-seconds` or `epoch-ms` (numbers since 1970, also with a fraction or in a text), `integer` (of
   * any size, also in a text) or `text` (compared by its characters' codes).
   */
  readonly type: SinceType;
  /**
   * How requests write a value, if not as rows do: a text with a format in braces, e.g. `{epoch-seconds}` or
   * `updated >= {epoch-ms}`; formats are `instant`, `datetime`, `minute`, `date`, `epoch-seconds`, `epoch-ms`, and
   * `value` for the row's own text. Or a function `(value, bound) => text`. The text for the bound `from` may request
   * more rows, which are left out, but never fewer: some would be missed. Formats round down. `datetime`, `minute` and
   * `date` are times of the `zone`. If rows have instants and no `zone` is given, requests cover some 13 hours more at
   * both ends, for any zone, as they do for a function that returns a date without a zone; with `zone`, it must write
   * times of that zone. Without `write`, an `integer` is a number in a body; with `{value}`, a text.
   *
   * If the definition's `query` or `body` has a text with `{since}` in the same place, the value replaces `{since}`
   * there: `query: ({ project }) => ({ jql: \`project = ${project} AND {since}\` })`. Such a text needs `begin`.
   */
  readonly write?: SinceWriting;
  /**
   * The zone of times without a zone in rows or requests: an offset, e.g. `-07:00`, `UTC`, or a name of the IANA time
   * zone database, e.g. `America/Denver`. Default: unknown, from UTC-12 to UTC+14. Then requests cover more time, and
   * marks of the types `datetime` and `date` stay 12 hours behind, so that no row is missed. These hours come again.
   */
  readonly zone?: string;
  /**
   * Walks the listing in windows, for APIs that limit the rows or the time of a request. A window requests at least the
   * rows from its beginning until before its end, and rows outside of it are left out, so the API may take the end to
   * be inclusive or exclusive. Windows start at `begin`, or at the mark. The last window is open: it ends at least half
   * a step after the beginning of the walk, and has rows that change meanwhile. Needs `begin`, a place and times.
   * Default: one request has all rows from a value on.
   *
   * @example bySince({ param: 'created[gte]', …, begin: '2020-01-01', windows: { to: 'created[lt]', step: '30d' } })
   */
  readonly windows?: WindowOptions;
  /**
   * The value at which a walk without a mark starts: of a first export, of `full`, of a watch. For times also as an
   * instant or a date. Default: all rows, and the first request has no value. Needed if requests must have a value.
   */
  readonly begin?: string;
  /**
   * How late a row may appear, compared with its value: for times in ms (default 60,000), for integers as a number
   * (default 0). Rows that appear later are missed. Not for texts.
   */
  readonly overlap?: number;
}

/**
 * Paging by a value that grows with each change, such as `updated_at`. The API must filter by it, inclusively (it also
 * lists rows with the value itself), and list rows in ascending order: request that in `query`.
 *
 * Each page starts at the last known value, so a row that changes meanwhile and moves to the end pushes no other row
 * out of the walk. Exports with `incremental` request only rows that are new since the last export, for each parent and
 * each of the values of `partitions`. Rows without a value and rows that are not in order are errors. Removed rows are
 * not noticed. Rows from before the requested value are left out.
 *
 * Without `paging` it needs a `pageSize` with the API's `max`: a page with fewer rows counts as the last one if none of
 * its rows is new. A full page of rows with one and the same value is an error.
 *
 * @example
 * paging: bySince({ param: 'since', field: 'updated_at', type: 'instant' })
 * // A feed without a filter:
 * paging: bySince({ field: 'created', type: 'epoch-seconds', order: 'newest-first', paging: byPage({ param: 'page' }) })
 *
 * @throws ConfigError if an option is invalid. Later: DecodeError, or PaginationError if rows would be missed.
 */
export function bySince(options: SinceOptions): Paging {
  checkOptions('bySince()', options, {
    ...placeKinds,
    field: 'text',
    type: 'text',
    write: 'text or a function?',
    zone: 'text?',
    begin: 'text?',
    overlap: 'a number?',
    order: 'text?',
    paging: 'an object?',
    windows: 'an object?',
  });
  const { field, type, order = 'ascending', paging, windows } = options;
  if (!sinceTypes.includes(type))
    throw new ConfigError(`The type of bySince is ${shownText(type)}. ${hintFor(type, sinceTypes)}`);
  const changes = changesClock(options.write, type);
  const isFree = typeof options.write === 'function' || (isTimeFormat(type) && isLocal(type));
  if (options.zone !== undefined && !changes && !isFree)
    throw new ConfigError(
      `zone of bySince is for times without a zone, and neither the rows nor the requests have such. If the API takes them for local ones, e.g. give write: '{datetime}'.`,
    );
  const zone = timeZone(options.zone);
  const rule = sinceRule(type, zone);
  const overlap = options.overlap ?? (rule.isTime ? 60_000 : 0);
  checkCount('overlap', overlap, { min: 0 });
  if (type === 'text' && overlap > 0)
    throw new ConfigError('bySince takes no overlap for texts, since nothing can be subtracted from them.');
  checkWalk(options, rule);
  const begin = givenValue(rule, 'begin', options.begin);
  const hasPlace = (options.param ?? options.into ?? options.header) !== undefined;
  const place = hasPlace || order === 'ascending' ? parsePlace(options) : undefined;
  const written = writtenTimes(options.write);
  const listWindows = windows && sinceWindows(windows, { type, rule, begin, zone, overlap, written });
  const end = endPlace(options, place);
  const write = writeSince(options.write, type, zone);
  const put = (first: PageAddress, { from, to }: SinceBounds): PageAddress => {
    if (!place) return first;
    const written = write(rule.given(from) ?? from, 'from', to);
    // In a body, an integer is a number, however large it is.
    const isNumber = type === 'integer' && options.into !== undefined && options.write === undefined;
    const value = fillSlot(place.find?.(first), written);
    const begun = place.put(first, isNumber && value === written ? new ExactNumber(String(BigInt(written))) : value);
    return end && to !== undefined ? end.put(begun, write(to, 'to')) : begun;
  };
  const by: SinceField = {
    field,
    rule,
    put,
    isCoarse: options.write !== undefined,
    needsZone: changes && !zone.isKnown,
    doesFilter: `Does it filter by ${JSON.stringify(options.param ?? options.into ?? options.header)}?${type === 'instant' ? " If it takes times for local ones, give write: '{datetime}' and the zone." : ''}`,
  };
  documentPath(field);
  const pages: Pick<Paging, 'request' | 'next'> & Pick<IncrementalPaging, 'newRows'> = paging
    ? {
        ...pageInside(by, order, place !== undefined),
        request(first, at, since) {
          const { from } = since ?? {};
          return paging.request(from === undefined ? first : put(first, { ...since, from }), at);
        },
        next: (response) => paging.next(response),
      }
    : pageByValue(by);
  return {
    identity: {
      by: 'since',
      ...place?.identity,
      field,
      type,
      write: typeof options.write === 'function' ? 'function' : (options.write ?? null),
      begin: begin ?? null,
      ...(options.zone !== undefined && { zone: options.zone }),
      // In checkpoints without `v`, windows ended elsewhere.
      ...(windows && { windows: { ...windows, v: 2 } }),
      order,
      paging: paging?.identity ?? null,
    },
    ...joinPlaces([place?.sets, end?.sets, paging]),
    request: (first, at, since) => pages.request(first, at, since),
    next: (response) => pages.next(response),
    more: (response) => paging?.more?.(response) === true,
    namesNext: paging?.namesNext === true,
    needsPageSize: paging?.needsPageSize ?? !paging,
    increment: {
      compare: (a, b) => rule.compare(a, b),
      read: (value) => rule.given(value),
      wanted: rule.wanted,
      mark: (latest, began) => rule.mark(latest, began, overlap),
      ...(windows && { mend: (mark) => rule.mend?.(mark) ?? mark }),
      isBounded: rule.isTime,
      isSent: place !== undefined,
      canEnd: true,
      begin,
      windows: listWindows,
      from: put,
      newRows: (page, response) => pages.newRows(page, response),
    },
  };
}

/** The place of a window's end in requests; `undefined` if `write` has it. @throws ConfigError unless just one has. */
function endPlace({ windows, write, param, into }: SinceOptions, place: Placing | undefined): Placing | undefined {
  const isWritten = writesEnd(write);
  if (!windows) {
    if (isWritten)
      throw new ConfigError("write of bySince has the end of a window: give windows, e.g. { step: '30d' }.");
    return undefined;
  }
  const { to } = windows;
  if (!place) throw new ConfigError('bySince needs a place for windows: param, into or header.');
  if ((to === undefined) !== isWritten)
    throw new ConfigError(
      "The end of a window of bySince is sent in one place: give windows.to, e.g. 'created[lt]', or write it with the beginning, e.g. '{instant}..{to:instant}'.",
    );
  if (to === undefined) return undefined;
  return parsePlace(param !== undefined ? { param: to } : into !== undefined ? { into: to } : { header: to });
}

/** @throws ConfigError if the order does not fit the paging or the type. */
function checkWalk({ order = 'ascending', paging, type }: SinceOptions, { isTime }: SinceRule): void {
  const orders: readonly SinceOrder[] = ['ascending', 'newest-first', 'any'];
  if (!orders.includes(order))
    throw new ConfigError(`The order of bySince is ${shownText(order)}. ${hintFor(order, orders)}`);
  if (order !== 'ascending' && !paging)
    throw new ConfigError(
      `bySince needs the paging of the API where the order is ${order}, e.g. paging: byPage({ param: 'page' }).`,
    );
  if (order === 'any' && !isTime)
    throw new ConfigError(
      `bySince takes no order 'any' for values of type ${type}: a row that changes during a walk may get one that the walk has passed. Only times can be compared with its beginning.`,
    );
  if (paging?.increment) throw new ConfigError('The paging of bySince is a bySince itself: give that of the API.');
}
