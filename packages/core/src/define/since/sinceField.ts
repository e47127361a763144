import { ConfigError } from '../../errors.js';
import { hashOf } from '../../rows/source/fingerprint.js';
import type { DocumentReader } from '../responses/documentReader.js';
import type { PageIncrement, Since } from '../../rows/source/increment.js';
import { documentPath } from '../responses/documentPath.js';
import type { PageAddress, SinceBounds } from '../pages/paging.js';
import { kindOfSince, type SinceRule } from './sinceValue.js';

/** The field of a row by whose values new rows are found. */
export interface SinceField {
  readonly field: string;
  readonly rule: SinceRule;
  /** Whether a request may ask for more than is wanted. */
  readonly isCoarse: boolean;
  /** Whether it asks for more only because the zone of the API's times is unknown. */
  readonly needsZone: boolean;
  /** For messages about an API that seems not to filter. */
  readonly doesFilter: string;
  /** A request for the rows from a value on, or of a window. */
  readonly put: (first: PageAddress, bounds: SinceBounds) => PageAddress;
}

/** A received row as increments see it. */
export interface RowValue {
  readonly hash: string;
  readonly value: string;
}

/** @throws DecodeError if a row has none. */
export function rowValues({ field, rule }: SinceField, rows: readonly unknown[], read: DocumentReader): RowValue[] {
  const path = documentPath(field);
  return rows.map((row) => {
    const found = path.find(row, read);
    const value = rule.read(found);
    if (value === undefined)
      throw read.fault(field, `it is ${kindOfSince(found)}, and not ${rule.wanted}, so rows could be missed`);
    return { hash: hashOf(row), value };
  });
}

/**
 * Which rows a walk did not ask for, by their index: from before its first value, or at or after the end of a window,
 * since an API may take that to be inclusive.
 */
export function findUnwanted(
  { field, rule, isCoarse, doesFilter }: SinceField,
  rows: readonly RowValue[],
  { from, to, isOpen }: Since,
  { isSent, warn }: { readonly isSent: boolean; readonly warn: (message: string) => void },
): { readonly isEarly: readonly boolean[]; readonly isLate: readonly boolean[] } {
  const isEarly = rows.map(({ value }) => from !== undefined && rule.compare(value, from) < 0);
  const behindEnd = rows.map(({ value }) => (to === undefined ? -1 : rule.compare(value, to)));
  const report = (where: string): void =>
    warn(`the API lists rows from ${where} that it was asked for, which are left out. ${doesFilter}`);
  if (isSent && !isCoarse && isEarly.includes(true)) report(`before the ${field}`);
  if (isSent && !isCoarse && !isOpen && behindEnd.some((is) => is > 0)) report(`after the last ${field}`);
  return { isEarly, isLate: behindEnd.map((is) => !isOpen && is >= 0) };
}

/**
 * A page without rows that is to begin with a known one: only a change or a removal just now explains it.
 *
 * @param isLater it is not the first page of a walk
 */
export function doubtFilter({ field }: SinceField, { from, knownAt }: Since, isLater: boolean): string | undefined {
  if (!isLater && (from === undefined || from !== knownAt)) return undefined;
  return `asked for rows from the ${field} of the last row on, the API lists none. If it leaves out rows with the value itself, some are missed: bySince needs an inclusive filter.`;
}

/** @throws DecodeError if the rows are not in order. */
export function checkOrder(
  { field, rule }: SinceField,
  rows: readonly RowValue[],
  order: 'ascending' | 'newest-first',
  read: DocumentReader,
): void {
  const sign = order === 'ascending' ? 1 : -1;
  const wrong = rows.findIndex(
    ({ value }, index) => index > 0 && sign * rule.compare(rows[index - 1]?.value ?? '', value) > 0,
  );
  if (wrong < 0) return;
  throw read.fault(
    field,
    order === 'ascending'
      ? `row ${wrong} is before the one above it: rows must be in ascending order`
      : `row ${wrong} is after the one above it: the newest rows must come first`,
  );
}

/** What a page says about an increment, of the rows that it emits. */
export function pageIncrement(
  { rule }: SinceField,
  rows: readonly RowValue[],
  { at, emitted }: { readonly at: number; readonly emitted: readonly RowValue[] },
): PageIncrement {
  const latest = rows.reduce<string | undefined>(
    (last, { value }) => (last === undefined || rule.compare(value, last) > 0 ? value : last),
    undefined,
  );
  return {
    at,
    rows: emitted.map(({ hash, value }) => [hash, value] as const),
    ...(latest !== undefined && { latest }),
  };
}

/** @throws ConfigError if a value that the definition gives is none of its type. */
export function givenValue(rule: SinceRule, option: string, given: string | undefined): string | undefined {
  if (given === undefined) return undefined;
  const value = rule.given(given);
  if (value !== undefined) return value;
  throw new ConfigError(`${option} of bySince is ${kindOfSince(given)}: it must be ${rule.wanted}.`);
}
