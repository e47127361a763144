import { nftHoldingSchema } from '@sluice/aptos';
import { evmStreamSchema } from '@sluice/streams';
import { fieldText } from '../../terminal/format.js';
import { TopCounts } from './topCounts.js';

/** What a report shows of the rows of one source. */
export interface ReportSubject {
  readonly source: string;
  readonly noun: readonly [one: string, many: string];
  /** All that a row may have. */
  readonly columns: readonly string[];
  /** Columns whose most frequent values are shown. */
  readonly groups: readonly { readonly column: string; readonly title: string; readonly noun: string }[];
  /** The column with the time of a row: ISO 8601. */
  readonly time?: { readonly column: string; readonly title: string };
}

/** Sources whose schema declares their columns. */
export const subjects: readonly ReportSubject[] = [
  {
    source: 'aptos.nfts',
    noun: ['holding', 'holdings'],
    columns: nftHoldingSchema.columns,
    groups: [
      { column: 'collection_name', title: 'The largest collections', noun: 'collection' },
      { column: 'owner_address', title: 'Wallets with the most holdings', noun: 'wallet' },
    ],
    time: { column: 'last_transaction_timestamp', title: 'Holdings by the time of their last change' },
  },
  {
    source: 'streams.list',
    noun: ['stream', 'streams'],
    columns: evmStreamSchema.columns,
    groups: [{ column: 'status', title: 'Streams by status', noun: 'status' }],
  },
];

/** The subject whose columns these are; `undefined` if there is none. */
export function findSubject(columns: readonly string[]): ReportSubject | undefined {
  return subjects.find(
    (subject) =>
      columns.every((column) => subject.columns.includes(column)) &&
      subject.groups.some(({ column }) => columns.includes(column)),
  );
}

export type ReportRow = Readonly<Record<string, unknown>>;

interface Share {
  readonly name: string;
  readonly count: number;
}

/** The content of a report. */
export interface Figures {
  readonly subject: ReportSubject;
  readonly rows: number;
  readonly groups: readonly {
    readonly title: string;
    readonly noun: string;
    /** Different values; absent if there are too many to count. */
    readonly size?: number | undefined;
    /** No count is lower than the true one by more than this. */
    readonly error: number;
    readonly top: readonly Share[];
    /** Rows without a value. */
    readonly empty: number;
  }[];
  readonly time?: { readonly title: string; readonly periods: readonly Share[]; readonly empty: number } | undefined;
  /** The columns of the file, with the number of rows that have a value. */
  readonly filled: readonly Share[];
  /** Columns of the source that the file does not have. */
  readonly missing: readonly string[];
}

/** Different values of a column that are counted exactly. */
const capacity = 20_000;
const longestKey = 200;
const topValues = 20;
/** Of more months, years are shown. */
const maxMonths = 36;

/** Reads all rows once, in memory that does not depend on their number. */
export async function countFigures(
  subject: ReportSubject,
  columns: readonly string[],
  rows: AsyncIterable<ReportRow>,
): Promise<Figures> {
  const counters = subject.groups
    .filter(({ column }) => columns.includes(column))
    .map((group) => ({ ...group, counts: new TopCounts(capacity), empty: 0 }));
  const time = subject.time && columns.includes(subject.time.column) ? subject.time : undefined;
  const months = new Map<string, number>();
  const filled = new Map(columns.map((column) => [column, 0]));
  let count = 0;
  let undated = 0;
  for await (const row of rows) {
    count += 1;
    for (const column of columns) if (hasValue(row[column])) filled.set(column, (filled.get(column) ?? 0) + 1);
    for (const counter of counters) {
      const value = row[counter.column];
      if (hasValue(value)) counter.counts.add(fieldText(value).slice(0, longestKey));
      else counter.empty += 1;
    }
    if (!time) continue;
    const month = readMonth(row[time.column]);
    if (month === undefined) undated += 1;
    else months.set(month, (months.get(month) ?? 0) + 1);
  }
  return {
    subject,
    rows: count,
    groups: counters.map(({ title, noun, counts, empty }) => ({
      title,
      noun,
      empty,
      error: counts.error,
      size: counts.size,
      top: counts.top(topValues).map(({ key, count: of }) => ({ name: key, count: of })),
    })),
    time: time && { title: time.title, periods: groupPeriods(months), empty: undated },
    filled: [...filled].map(([name, of]) => ({ name, count: of })),
    missing: subject.columns.filter((column) => !columns.includes(column)),
  };
}

function hasValue(value: unknown): boolean {
  return value !== null && value !== undefined && value !== '';
}

const month = /^(\d{4}-(?:0[1-9]|1[0-2]))-\d\d/;

function readMonth(value: unknown): string | undefined {
  const text = value instanceof Date && !Number.isNaN(value.getTime()) ? value.toISOString() : fieldText(value);
  return month.exec(text)?.[1];
}

/** Months in their order, or years. */
function groupPeriods(months: ReadonlyMap<string, number>): Share[] {
  const years = months.size > maxMonths;
  const periods = new Map<string, number>();
  for (const [name, count] of months) {
    const period = years ? name.slice(0, 4) : name;
    periods.set(period, (periods.get(period) ?? 0) + count);
  }
  return [...periods].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([name, count]) => ({ name, count }));
}
