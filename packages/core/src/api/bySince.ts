import { checkCount, checkOptions, hintFor } from '../checks.js';
import { ConfigError, PaginationError } from '../errors.js';
import { ExactNumber } from '../json.js';
import { hashOf } from '../source/fingerprint.js';
import type { PageIncrement } from '../source/increment.js';
import { isList, shownText } from '../values.js';
import type { PageAnswer } from './answer.js';
import { documentPath } from './documentPath.js';
import { cursorOf, type IncrementalPaging, leftOutFault, type PageAddress, type Paging } from './paging.js';
import { parsePlace, placeKinds, type RequestPlace } from './requestPlace.js';
import { kindOfSince, sinceRules, type SinceType } from './sinceValue.js';
import { type SinceWriting, writeSince } from './writeSince.js';

/** Options of {@link bySince}. */
export type SinceOptions = RequestPlace & {
  /** The value's path in a row as it was received, e.g. `updated_at`. */
  readonly field: string;
  /**
   * What the values are: `instant` (a date with time and zone), `datetime` (without a zone, taken for UTC), `date`,
   * `epoch-seconds` or `epoch-ms` (numbers since 1970, also with a fraction or in a text), `integer` (of any size, also
   * in a text) or `text` (compared by its characters' codes).
   */
  readonly type: SinceType;
  /**
   * How the request has a value, if not as rows have it: a text with a format in braces, e.g. `{epoch-seconds}` or
   * `updated >= "{minute}"`; the formats are `instant`, `datetime`, `minute`, `date`, `epoch-seconds`, `epoch-ms`, and
   * `value` for the row's own text. Or a function `(value, bound) => text`. What is written for the bound `from` may ask
   * for more rows, which are left out, and never for less: rows would be missed. Formats round down. Without it, an
   * `integer` is a number in a body, and with `{value}` a text.
   */
  readonly write?: SinceWriting;
  /**
   * The value from which a walk starts that has no mark: that of a first export, of `full`, of a watch. For times also
   * as an instant or a date. Default: all rows, and the first request has no value. Needed where a request must have one.
   */
  readonly begin?: string;
  /**
   * How late a row may appear, compared with its value: for times in ms (default 60,000), for integers as a number
   * (default 0). Rows that appear later are missed. Not for texts.
   */
  readonly overlap?: number;
  /**
   * How the listing continues, if rows that change while it is walked move no other rows, e.g. by a cursor into a
   * snapshot. Default: each page is requested with the value of the last row, which no move can disturb.
   */
  readonly stable?: Paging;
};

/**
 * Paging by a value that grows with each change, such as `updated_at`. The API must filter by it, inclusive (rows with
 * the value itself are listed, too), and list rows in ascending order: ask for that in `query`.
 *
 * Each page starts at the last known value, so a row that changes meanwhile and moves to the end pushes none out of the
 * walk. Exports with `incremental` request only what is new since the last one, of each parent if there are parents.
 * Of a listing with several `partitions` only instants can be exported so: they share a mark, and of other values one
 * partition may get rows below that of another. Rows without a value, rows that are not in order, and a page of rows
 * with one and the same value are errors. Removed rows are not noticed. Rows from before the requested value are left out.
 *
 * It needs a `pageSize`; its `max` must be the API's: a page that has fewer rows is taken for the last one if none of
 * them is new.
 *
 * @example
 * paging: bySince({ param: 'since', field: 'updated_at', type: 'instant' })
 *
 * @throws ConfigError if an option is invalid. Later: DecodeError, or PaginationError if rows would be missed.
 */
export function bySince(options: SinceOptions): Paging {
  checkOptions('bySince()', options, {
    ...placeKinds,
    field: 'text',
    type: 'text',
    write: 'text or a function?',
    begin: 'text?',
    overlap: 'a number?',
    stable: 'an object?',
  });
  const { field, type, stable } = options;
  const rule = Object.hasOwn(sinceRules, type) ? sinceRules[type] : undefined;
  if (!rule)
    throw new ConfigError(`The type of bySince is ${shownText(type)}. ${hintFor(type, Object.keys(sinceRules))}`);
  const overlap = options.overlap ?? (rule.isTime ? 60_000 : 0);
  checkCount('overlap', overlap, { min: 0 });
  if (type === 'text' && overlap > 0)
    throw new ConfigError('bySince takes no overlap for texts, since nothing can be subtracted from them.');
  const begin = options.begin === undefined ? undefined : rule.given(options.begin);
  if (options.begin !== undefined && begin === undefined)
    throw new ConfigError(`begin of bySince is ${shownText(options.begin)}: it must be ${rule.wanted}.`);
  const place = parsePlace(options);
  const write = writeSince(options.write, type);
  const put = (first: PageAddress, value: string): PageAddress => {
    const written = write(rule.given(value) ?? value, 'from');
    // In a body, an integer is a number, however large it is.
    const isNumber = type === 'integer' && options.into !== undefined && options.write === undefined;
    return place.put(first, isNumber ? new ExactNumber(String(BigInt(written))) : written);
  };
  const path = documentPath(field);
  const doesFilter = `Does it filter by ${JSON.stringify(options.param ?? options.into ?? options.header)}?`;
  const valueOf = (row: unknown, { read }: Pick<PageAnswer, 'read'>): string => {
    const found = path.find(row, read);
    const value = rule.read(found);
    if (value === undefined)
      throw read.fault(field, `it is ${kindOfSince(found)}, and not ${rule.wanted}, so rows could be missed`);
    return value;
  };
  const increment: IncrementalPaging = {
    compare: (a, b) => rule.compare(a, b),
    read: (value) => rule.given(value),
    wanted: rule.wanted,
    mark: (latest, began) => rule.mark(latest, began, overlap),
    isBounded: rule.isTime,
    begin,
    from: put,
    newRows(page, { since, from, at, requested, read, warn, items }) {
      if (page.next === 'by-offset')
        throw new ConfigError('bySince cannot page by offset: rows that move would be missed.');
      const known = stable ? [] : listKnownRows(from);
      const start = stable || !from ? since.from : decodeSince(cursorOf(from)).value;
      const rows = page.received.map((row) => ({ hash: hashOf(row), value: valueOf(row, { read }) }));
      // The walk has had them, or was not to have them.
      const isEarly = rows.map(({ value }) => start !== undefined && rule.compare(value, start) < 0);
      if (isEarly.includes(true) && options.write === undefined)
        warn(`the API lists rows from before the ${field} that it was asked for, which are left out. ${doesFilter}`);
      // It would at least have the last row again, unless that was removed just now.
      if (from && !stable && rows.length === 0)
        warn(
          `asked for rows from the ${field} of the last row on, the API lists none. If it leaves out rows with the value itself, some are missed: bySince needs an inclusive filter.`,
        );
      const isNew = rows.map(
        ({ hash }, index) => !isEarly[index] && !known.includes(hash) && since.isKnown?.(hash) !== true,
      );
      const latest = rows.reduce<string | undefined>(
        (last, { value }) => (last === undefined || rule.compare(value, last) > 0 ? value : last),
        undefined,
      );
      const isShort = requested !== undefined && items < requested;
      const emitted = rows.filter((_, index) => isNew[index]);
      const told: PageIncrement = {
        at,
        rows: emitted.map(({ hash, value }) => [hash, value] as const),
        ...(latest !== undefined && { latest }),
      };
      return {
        ...page,
        // It counts rows that are left out.
        total: isEarly.includes(true) ? undefined : page.total,
        received: page.received.filter((_, index) => isNew[index]),
        decode: () => page.decode().filter((_, index) => isNew[index]),
        // After a page that could have had more rows and has none that is new, there is nothing new.
        next: !stable && isShort && emitted.length === 0 ? 'end' : page.next,
        increment: told,
      };
    },
  };
  const nextAfter = (answer: PageAnswer): { readonly cursor: string } | 'end' => {
    const { rows, from, since, requested, read, items } = answer;
    const values = rows.map((row) => valueOf(row, { read }));
    const disorder = values.findIndex((value, index) => index > 0 && rule.compare(values[index - 1] ?? '', value) > 0);
    if (disorder >= 0)
      throw read.fault(field, `row ${String(disorder)} is before the one above it: rows must be in ascending order`);
    const last = values.at(-1);
    if (last === undefined) {
      if (items >= (requested ?? 1)) throw leftOutFault(read);
      return 'end';
    }
    const start = from ? decodeSince(cursorOf(from)).value : since;
    if (start === undefined || rule.compare(last, start) > 0) {
      const atLast = rows.filter((_, index) => rule.compare(values[index] ?? '', last) === 0);
      return { cursor: JSON.stringify([last, atLast.map(hashOf)]) };
    }
    const isShort = requested !== undefined && rows.length < requested;
    if (isShort && items >= requested) throw leftOutFault(read);
    if (requested === undefined || isShort) return 'end';
    if (rule.compare(values[0] ?? '', last) < 0 && options.write === undefined)
      throw new PaginationError(
        'no-progress',
        `a page is full of rows that are not after the ${field} that it was asked for, so it leads no further. ${doesFilter}`,
      );
    throw new PaginationError(
      'no-progress',
      `${field} is the same in all ${String(rows.length)} rows of a page${options.write === undefined ? '' : ', as requests have it'}, so those after them cannot be requested. Raise pageSize.`,
    );
  };
  return {
    identity: {
      by: 'since',
      ...place.identity,
      field,
      type,
      write: typeof options.write === 'function' ? 'function' : (options.write ?? null),
      begin: begin ?? null,
      stable: stable?.identity ?? null,
    },
    params: [...place.params, ...(stable?.params ?? [])],
    fields: [...place.fields, ...(stable?.fields ?? [])],
    headers: [...place.headers, ...(stable?.headers ?? [])],
    request: (first, at) => (stable ? stable.request(first, at) : put(first, decodeSince(cursorOf(at)).value)),
    next: (answer) => stable?.next(answer) ?? nextAfter(answer),
    more: (answer) => stable?.more?.(answer) === true,
    increment,
  };
}

function listKnownRows(from: PageAnswer['from']): readonly string[] {
  return from ? decodeSince(cursorOf(from)).rows : [];
}

/** A cursor that {@link bySince} made. */
function decodeSince(cursor: string): { readonly value: string; readonly rows: readonly string[] } {
  try {
    const decoded: unknown = JSON.parse(cursor);
    if (isList(decoded)) {
      const [value, rows] = decoded;
      if (typeof value === 'string' && isList(rows) && rows.every((row) => typeof row === 'string'))
        return { value, rows };
    }
  } catch {
    // Not JSON: a person has given it, or another paging.
  }
  throw new ConfigError('startAt is not a cursor of bySince. Give a position that a walk has reached.');
}
