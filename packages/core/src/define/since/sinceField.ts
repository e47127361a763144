import { ConfigError } from '../../errors.js';
import { hashOf } from '../../rows/source/fingerprint.js';
import type { DocumentReader } from '../responses/documentReader.js';
import type { PageIncrement, Since } from '../../rows/source/increment.js';
import { documentPath } from '../responses/documentPath.js';
import type { PageAddress, SinceBounds } from '../pages/paging.js';
import { kindOfSince, type SinceRule } from './sinceValue.js';

/** The field whose values tell which rows are new. */
export interface SinceField {
  readonly field: string;
  readonly rule: SinceRule;
  /** Whether a request may cover more than the wanted rows. */
  readonly isCoarse: boolean;
  /** Whether it covers more only because the zone of the API's times is unknown. */
  readonly needsZone: boolean;
  /** Part of messages about an API that does not seem to filter. */
  readonly doesFilter: string;
  /** Makes a request for the rows from a value on, or of a window. */
  readonly put: (first: PageAddress, bounds: SinceBounds) => PageAddress;
}

/** A received row as increments see it. */
export interface RowValue {
  readonly hash: string;
  readonly value: string;
}

/** @throws DecodeError if a row has no valid value. */
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
 * Which rows a walk does not want, by their index: rows before its first value, or rows at or after its end or that of a
 * window, since an API may take the end of a window to be inclusive, and is not told that of the walk.
 */
export function findUnwanted(
  { field, rule, isCoarse, doesFilter }: SinceField,
  rows: readonly RowValue[],
  { from, before, to, isOpen }: Since,
  { isSent, warn }: { readonly isSent: boolean; readonly warn: (message: string) => void },
): { readonly isEarly: readonly boolean[]; readonly isLate: readonly boolean[] } {
  const isEarly = rows.map(({ value }) => from !== undefined && rule.compare(value, from) < 0);
  const behindEnd = rows.map(({ value }) => (to === undefined ? -1 : rule.compare(value, to)));
  const report = (where: string): void =>
    warn(`the API lists rows from ${where} that it was asked for, which are left out. ${doesFilter}`);
  if (isSent && !isCoarse && isEarly.includes(true)) report(`before the ${field}`);
  if (isSent && !isCoarse && !isOpen && behindEnd.some((is) => is > 0)) report(`after the last ${field}`);
  const isBehind = (value: string): boolean => before !== undefined && rule.compare(value, before) >= 0;
  return { isEarly, isLate: rows.map(({ value }, nth) => (!isOpen && (behindEnd[nth] ?? -1) >= 0) || isBehind(value)) };
}

/**
 * Doubts that the filter is inclusive, for a page without rows that should begin with a known row, unless the row has
 * just changed or gone.
 *
 * @param isLater whether the page is not the first one of a walk
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

/** The values of a page for an increment, with the rows that it emits. */
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

/** Reads a value of the definition. @throws ConfigError if it is not of the definition's type. */
export function givenValue(rule: SinceRule, option: string, given: string | undefined): string | undefined {
  if (given === undefined) return undefined;
  const value = rule.given(given);
  if (value !== undefined) return value;
  throw new ConfigError(`${option} of bySince is ${kindOfSince(given)}: it must be ${rule.wanted}.`);
}
