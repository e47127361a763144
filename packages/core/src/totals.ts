import { isCount, isRecord } from './values.js';

/** A total that the API states, and the rows that it has listed. */
export type StatedTotal = Readonly<Record<'total' | 'listed', number>>;

/** Whether an untrusted value is a stated total. */
function isStatedTotal(value: unknown): value is StatedTotal {
  return isRecord(value) && isCount(value['total']) && isCount(value['listed']);
}

/**
 * The finished partitions for which the API states totals, compared with these. `total` and `listed` are the sums of
 * the short partitions.
 */
export interface StatedTotals extends StatedTotal {
  readonly partitions: number;
  /** How many of them are short: they have fewer rows than the smallest stated total. */
  readonly short: number;
  /** The short partition's name, e.g. `partition 2 of 3`, if it is the only one, and the walk has several. */
  readonly which?: string;
  /** The partitions with more rows than the largest stated total; absent if there are none. */
  readonly over?: PartitionTotals;
}

/** Some partitions: their number, the sums of their totals and rows, and the name if there is only one. */
interface PartitionTotals extends StatedTotal {
  readonly partitions: number;
  readonly which?: string;
}

/** Listings with fewer rows than the API states, or if there are none, listings with more. */
export interface TotalGap extends PartitionTotals {
  readonly kind: 'shortOfTotal' | 'overTotal';
}

/** The totals that a chain's pages have stated, as its position stores them. */
interface TotalsOfChain {
  readonly total?: number | undefined;
  readonly maxTotal?: number | undefined;
  readonly isListingTotal?: true | undefined;
}

/** The totals after another page. @param stated the page's total @param rows the number of rows of the page */
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
 * Compares a finished partition with the totals that its pages have stated; `undefined` if they stated none. If each
 * total was the number of rows of its page, it may not count the listing: then the partition can't have too many rows.
 *
 * @param repeated how many received rows have the key of an earlier row
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

/** The listings that differ from the totals that the API states. */
export function findGap(totals: StatedTotals | undefined): TotalGap | undefined {
  if (!totals) return undefined;
  const { short: partitions, total, listed, which, over } = totals;
  if (partitions > 0) return { kind: 'shortOfTotal', partitions, total, listed, ...(which !== undefined && { which }) };
  return over && { kind: 'overTotal', ...over };
}

/** Listings whose number of rows differs from the totals that the API states. At most one property is present. */
export type StatedGap = Readonly<{
  /** They have fewer rows: the sums of the smallest stated totals, and of the listed rows. */
  shortOfTotal?: StatedTotal;
  /** They have more rows than the largest totals, and none has fewer. */
  overTotal?: StatedTotal;
}>;

/** The form of a gap in reports. */
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

/** Adds the totals of more partitions. @param which the name of the partition in `more`, if it is only one */
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

/** Whether an untrusted value has the totals of finished partitions. */
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
