import { ConfigError, PaginationError } from '../../errors.js';
import { isList, parseJson } from '../../values.js';
import type { PageResponse } from '../responses/pageResponse.js';
import { cursorOf, type IncrementalPaging, leftOutFault, type Paging } from '../pages/paging.js';
import { checkOrder, doubtFilter, findUnwanted, pageIncrement, rowValues, type SinceField } from './sinceField.js';

type ValuePages = Pick<Paging, 'request' | 'next'> & Pick<IncrementalPaging, 'newRows'>;

/** Requests each page with the value of the last row, and leaves out rows that come again. */
export function pageByValue(by: SinceField): ValuePages {
  const { put } = by;
  return {
    request: (first, at, since) => put(first, { from: decodeSince(cursorOf(at)).value, to: since?.to }),
    newRows(page, { since, from, at, requested, read, warn, items }) {
      const last = from && decodeSince(cursorOf(from));
      const start = last?.value ?? since.from;
      const rows = rowValues(by, page.received, read);
      // The walk has had the early rows, or does not want them.
      const { isEarly, isLate } = findUnwanted(by, rows, { ...since, from: start }, { isSent: true, warn });
      const doubt = rows.length === 0 ? doubtFilter(by, since, from !== undefined) : undefined;
      if (doubt !== undefined) warn(doubt);
      const isNew = rows.map(
        ({ hash }, index) =>
          !isEarly[index] && !isLate[index] && last?.rows.includes(hash) !== true && since.isKnown?.(hash) !== true,
      );
      const isShort = requested !== undefined && items < requested;
      const emitted = rows.filter((_, index) => isNew[index]);
      return {
        ...page,
        // A total would count rows that are left out.
        total: isEarly.includes(true) ? undefined : page.total,
        received: page.received.filter((_, index) => isNew[index]),
        decode: () => page.decode().filter((_, index) => isNew[index]),
        // If a page could have had more rows and has no new one, no new rows follow.
        next: (isShort && emitted.length === 0) || isLate.at(-1) ? 'end' : page.next,
        increment: pageIncrement(by, rows, { at, emitted }),
      };
    },
    next: (response) => nextAfter(by, response),
  };
}

function nextAfter(by: SinceField, response: PageResponse): { readonly cursor: string } | 'end' {
  const { field, rule, doesFilter, isCoarse, needsZone } = by;
  const { from, since, requested, read, items } = response;
  const rows = rowValues(by, response.rows, read);
  checkOrder(by, rows, 'ascending', read);
  const last = rows.at(-1)?.value;
  if (last === undefined) {
    if (items >= (requested ?? 1)) throw leftOutFault(read);
    return 'end';
  }
  const start = from ? decodeSince(cursorOf(from)).value : since;
  if (start === undefined || rule.compare(last, start) > 0) {
    const atLast = rows.filter(({ value }) => rule.compare(value, last) === 0);
    return { cursor: JSON.stringify([last, atLast.map(({ hash }) => hash)]) };
  }
  const isShort = requested !== undefined && rows.length < requested;
  if (isShort && items >= requested) throw leftOutFault(read);
  if (requested === undefined || isShort) return 'end';
  if (rule.compare(rows[0]?.value ?? '', last) < 0 && !isCoarse)
    throw new PaginationError(
      'no-progress',
      `a page is full of rows that are not after the ${field} that it was asked for, so it leads no further. ${doesFilter}`,
    );
  if (needsZone)
    throw new PaginationError(
      'no-progress',
      `a page has only rows from before the ${field} that it was asked for: in which zone the API takes times is unknown, so requests ask for hours more. Give bySince the zone, e.g. zone: '-07:00', or raise pageSize.`,
    );
  throw new PaginationError(
    'no-progress',
    `${field} is the same in all ${String(rows.length)} rows of a page${isCoarse ? ', as requests have it' : ''}, so those after them cannot be requested. Raise pageSize, or give bySince the paging of the API, e.g. paging: byOffset(…).`,
  );
}

/** A cursor of {@link pageByValue}. */
function decodeSince(cursor: string): { readonly value: string; readonly rows: readonly string[] } {
  // A cursor that is not JSON comes from a person, or from another paging.
  const decoded = parseJson(cursor);
  if (isList(decoded)) {
    const [value, rows] = decoded;
    if (typeof value === 'string' && isList(rows) && rows.every((row) => typeof row === 'string'))
      return { value, rows };
  }
  throw new ConfigError('startAt is not a cursor of bySince. Give a position that a walk has reached.');
}
