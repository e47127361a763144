import { Failure } from '../../errors/errors.js';
import { type DeclaredRows, declaredHoldings, declaredStreams, hasColumns } from '../../source/declaredRows.js';
import { fieldText, formatNumber } from '../../terminal/format.js';
import { type Share, TopCounts } from './topCounts.js';

/** What a report shows of the rows of one source. */
export interface ReportSubject extends DeclaredRows {
  /** Columns whose most frequent values are shown. */
  readonly groups: readonly { readonly column: string; readonly title: string; readonly noun: string }[];
  /** The column with the time of a row: ISO 8601. */
  readonly time?: { readonly column: string; readonly title: string };
}

/** Sources whose schema declares their columns. */
export const subjects: readonly ReportSubject[] = [
  {
    ...declaredHoldings,
    groups: [
      { column: 'collection_name', title: 'The largest collections', noun: 'collection' },
      { column: 'owner_address', title: 'Wallets with the most holdings', noun: 'wallet' },
    ],
    time: { column: 'last_transaction_timestamp', title: 'Holdings by the time of their last change' },
  },
  {
    ...declaredStreams,
    groups: [{ column: 'status', title: 'Streams by status', noun: 'status' }],
  },
];

/** The subject of such columns, of which one is shown; `undefined` if there is none. */
export function findSubject(columns: readonly string[]): ReportSubject | undefined {
  return subjects.find(
    (subject) => hasColumns(subject, columns) && subject.groups.some(({ column }) => columns.includes(column)),
  );
}

export type ReportRow = Readonly<Record<string, unknown>>;

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
const maxColumns = 1_000;
/** Of more months, years are shown. */
const maxMonths = 36;

/**
 * Reads all rows once, in memory that does not depend on their number.
 *
 * @param columns those that are known before: rows of JSON may have others.
 * @throws Failure if the rows have more than 1,000 different fields.
 */
export async function countFigures(
  subject: ReportSubject,
  columns: readonly string[],
  rows: AsyncIterable<ReportRow>,
): Promise<Figures> {
  const { time } = subject;
  const counters = subject.groups.map((group) => ({ ...group, counts: new TopCounts(capacity), filled: 0 }));
  const months = new Map<string, number>();
  const filled = new Map(columns.map((column) => [column, 0]));
  let count = 0;
  let dated = 0;
  for await (const row of rows) {
    count += 1;
    for (const column of Object.keys(row)) {
      const known = filled.get(column) ?? 0;
      filled.set(column, hasValue(row[column]) ? known + 1 : known);
    }
    if (filled.size > maxColumns)
      throw new Failure(
        `The rows have more than ${formatNumber(maxColumns)} different fields. Export them with --columns.`,
      );
    for (const counter of counters) {
      const value = row[counter.column];
      if (!hasValue(value)) continue;
      counter.filled += 1;
      counter.counts.add(fieldText(value).slice(0, longestKey));
    }
    const month = time && readMonth(row[time.column]);
    if (month === undefined) continue;
    dated += 1;
    months.set(month, (months.get(month) ?? 0) + 1);
  }
  return {
    subject,
    rows: count,
    groups: counters
      .filter(({ column }) => filled.has(column))
      .map(({ title, noun, counts, filled: of }) => ({
        title,
        noun,
        empty: count - of,
        error: counts.error,
        size: counts.size,
        top: counts.top(topValues),
      })),
    time:
      time && filled.has(time.column)
        ? { title: time.title, periods: groupPeriods(months), empty: count - dated }
        : undefined,
    filled: [...filled].map(([name, of]) => ({ name, count: of })),
    missing: subject.schema.columns.filter((column) => !filled.has(column)),
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
