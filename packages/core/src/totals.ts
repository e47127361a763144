import { isCount, isRecord } from './values.js';

/** A total that the API states, and the rows that it has listed. */
export type StatedTotal = Readonly<Record<'total' | 'listed', number>>;

/** Whether an untrusted value is such a total. */
function isStatedTotal(value: unknown): value is StatedTotal {
  return isRecord(value) && isCount(value['total']) && isCount(value['listed']);
}

/**
 * What finished partitions have, compared with the totals that the API states for them, where it does. `total` and
 * `listed` are the sums of the short ones.
 */
export interface StatedTotals extends StatedTotal {
  readonly partitions: number;
  /** Of them, those with fewer rows than the smallest total that was stated. */
  readonly short: number;
  /** The short one, for messages, if there is only one and the walk has several partitions: e.g. `partition 2 of 3`. */
  readonly which?: string;
  /** Those with more rows than the largest total that was stated; absent if there are none. */
  readonly over?: PartitionTotals;
}

/** Some partitions: their number, the sums of their totals and rows, and the name of the only one. */
interface PartitionTotals extends StatedTotal {
  readonly partitions: number;
  readonly which?: string;
}

/** Listings with fewer rows than the API states, or if there are none, those with more. */
export interface TotalGap extends PartitionTotals {
  readonly kind: 'shortOfTotal' | 'overTotal';
}

/** What a chain's position keeps of the totals that its pages have stated. */
interface TotalsOfChain {
  readonly total?: number | undefined;
  readonly maxTotal?: number | undefined;
  readonly isListingTotal?: true | undefined;
}

/** What a position keeps after another page. @param stated the page's total @param rows that the page has */
export function totalsAfter(
  { total: min, maxTotal: max = min, isListingTotal }: TotalsOfChain,
  stated: number | undefined,
  rows: number,
): { readonly total?: number; readonly maxTotal?: number; readonly isListingTotal?: true } {
  if (min === undefined && stated === undefined) return {};
  const total = Math.min(min ?? Infinity, stated ?? Infinity);
  const maxTotal = Math.max(max ?? 0, stated ?? 0);
  const isOfListing = isListingTotal ?? (stated !== undefined && stated !== rows);
  return { total, ...(maxTotal > total && { maxTotal }), ...(isOfListing && { isListingTotal: true }) };
}

/**
 * A partition that has ended, compared with the totals that its pages have stated; `undefined` if they stated none. If each
 * was the number of rows of its page, they may not be those of the listing: then it can't have too many rows.
 *
 * @param repeated rows that are among those received, and have the key of an earlier one
 */
export function totalsAtEnd(
  { offset, total, maxTotal = total, isListingTotal }: TotalsOfChain & { readonly offset?: number | undefined },
  repeated: number,
): StatedTotals | undefined {
  if (offset === undefined || total === undefined || maxTotal === undefined) return undefined;
  const listed = offset - repeated;
  if (listed < total) return { partitions: 1, short: 1, total, listed };
  const over = isListingTotal && listed > maxTotal && { over: { partitions: 1, total: maxTotal, listed } };
  return { partitions: 1, short: 0, total: 0, listed: 0, ...over };
}

/** What differs from the totals that the API states. */
export function findGap(totals: StatedTotals | undefined): TotalGap | undefined {
  if (!totals) return undefined;
  const { short: partitions, total, listed, which, over } = totals;
  if (partitions > 0) return { kind: 'shortOfTotal', partitions, total, listed, ...(which !== undefined && { which }) };
  return over && { kind: 'overTotal', ...over };
}

/** Listings whose rows differ in number from the totals that the API states. At most one of the two is there. */
export type StatedGap = Readonly<{
  /** They have fewer rows: the smallest totals that were stated, and the rows that were listed. */
  shortOfTotal?: StatedTotal;
  /** They have more rows than the largest totals, and none has fewer. */
  overTotal?: StatedTotal;
}>;

/** A gap as a report has it. */
export function reportGap(gap: TotalGap | undefined): StatedGap {
  if (!gap) return {};
  const { kind, total, listed } = gap;
  return kind === 'shortOfTotal' ? { shortOfTotal: { total, listed } } : { overTotal: { total, listed } };
}

/** The gap in a report or an untrusted record. */
export function pickGap({ shortOfTotal, overTotal }: { readonly [Name in keyof StatedGap]?: unknown }): StatedGap {
  if (isStatedTotal(shortOfTotal)) return { shortOfTotal };
  return isStatedTotal(overTotal) ? { overTotal } : {};
}

/** The totals of more partitions together. @param which names those of `more`, if it is one. */
export function joinTotals(all: StatedTotals | undefined, more: StatedTotals, which: string | undefined): StatedTotals {
  const before = { partitions: all?.short ?? 0, total: all?.total ?? 0, listed: all?.listed ?? 0, which: all?.which };
  const { partitions, ...short } = join(before, { ...more, partitions: more.short }, which);
  const over = more.over ? join(all?.over, more.over, which) : all?.over;
  return { ...short, partitions: (all?.partitions ?? 0) + more.partitions, short: partitions, ...(over && { over }) };
}

function join(
  all: { readonly [Name in keyof PartitionTotals]: PartitionTotals[Name] | undefined } | undefined,
  more: PartitionTotals,
  name: string | undefined,
): PartitionTotals {
  const partitions = (all?.partitions ?? 0) + more.partitions;
  const which = more.partitions > 0 ? name : all?.which;
  return {
    partitions,
    total: (all?.total ?? 0) + more.total,
    listed: (all?.listed ?? 0) + more.listed,
    ...(partitions === 1 && which !== undefined && { which }),
  };
}

/** Whether an untrusted value is what finished partitions have. */
export function isStatedTotals(value: unknown): value is StatedTotals {
  if (!isRecord(value)) return false;
  const { short, over = value } = value;
  return isPartitionTotals(value) && isCount(short) && isPartitionTotals(over);
}

function isPartitionTotals(value: unknown): boolean {
  if (!isRecord(value) || !isStatedTotal(value)) return false;
  const { partitions, which = '' }: Readonly<Record<string, unknown>> = value;
  return isCount(partitions) && typeof which === 'string';
}
