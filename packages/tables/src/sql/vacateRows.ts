import { SinkError } from '@sluice/core';
import { shownText } from '@sluice/core/kit';
import { quote, type ExistingColumn, type Session, type SqlValue, type Unique } from './database.js';
import type { TargetTable } from './targetTable.js';

/** Rows of a table that swap values of which no two may be the same. */
export interface SwappingRows {
  readonly unique: Unique;
  readonly count: number;
  /** The keys of some of them, for messages. */
  readonly rows: readonly (readonly SqlValue[])[];
  /** The values of a column that its rows will have, or at least the first and the last of them. */
  readonly valuesToBe: (column: string) => readonly unknown[] | Promise<readonly unknown[]>;
}

/**
 * Gives rows a null or a value that no other row has, until they get their own: a database refuses even a moment of two
 * rows with the same.
 *
 * @param update makes the assignment that it gets for the number of a row, from 1
 * @throws SinkError, which names columns and rows, if the table takes no such value
 */
export async function vacateRows(
  session: Session,
  { database, name: { given, full }, key, sql }: TargetTable,
  { unique: { columns, isOfNulls = false }, count, rows, valuesToBe }: SwappingRows,
  update: (assignmentOf: (number: string) => string) => Promise<unknown>,
): Promise<void> {
  const found = ((await session.readColumns(full)) ?? []).filter(
    ({ name, isGenerated }) => columns.includes(name) && !key.includes(name) && !isGenerated,
  );
  // Rows that follow to a null no longer refer to anything, and do not follow any further.
  const empty = isOfNulls ? undefined : found.find(({ isNullable, isFollowed }) => isNullable !== false && !isFollowed);
  const number = found.find(({ declared }) => /^(numeric|bigint|integer|smallint)/i.test(declared));
  const column = empty ?? number ?? found.find(({ declared }) => /char|clob|text|^$/i.test(declared));
  const numberOf =
    column && column === number
      ? freeNumber(number, count, [
          ...(await readExtremes(session, sql, number.name)),
          ...(await valuesToBe(number.name)),
        ])
      : undefined;
  const valueOf = (nth: string): string => (empty ? 'NULL' : (numberOf?.(nth) ?? `'~' || CAST(${nth} AS text)`));
  if (column) {
    try {
      await update((nth) => `${quote(column.name)} = ${valueOf(nth)}`);
      return;
    } catch (error) {
      if (!database.readRefusal(error)) throw error;
    }
  }
  const shown = rows.slice(0, 3).map((values) => shownText(values.join(', ')));
  throw new SinkError(
    `Rows of ${given} swap values of ${columns.join(', ')}, of which no two may be the same, and ${given} takes no others in between: ${shown.join('; ')} (${key.join(', ')}). Nothing was changed. To allow it, ${database.allowSwaps}.`,
    { details: { table: given } },
  );
}

/** The least and the greatest number of a column, if there are any. @param table as SQL has it */
export async function readExtremes(session: Session, table: string, column: string): Promise<readonly unknown[]> {
  const name = quote(column);
  const [found] = await session.rows(
    `SELECT min(${name}) AS least, max(${name}) AS greatest FROM ${table} WHERE CAST(${name} AS text) NOT IN ('NaN', 'Infinity', '-Infinity')`,
  );
  return Object.values(found ?? {});
}

/** Numbers below those of a column and those that it will have; or above them, if there is no room below. */
function freeNumber({ declared }: ExistingColumn, count: number, values: readonly unknown[]): (nth: string) => string {
  const whole = values.flatMap((value) => /^-?\d+/.exec(String(value)) ?? []).map(BigInt);
  const least = whole.reduce((a, b) => (b < a ? b : a), 0n);
  const greatest = whole.reduce((a, b) => (b > a ? b : a), 0n);
  const limit = findLimit(declared);
  const hasRoom = limit === undefined || least - BigInt(count) > -limit;
  return (nth) => (hasRoom ? `${least} - ${nth}` : `${greatest} + ${nth}`);
}

/** What all numbers of a type are closer to 0 than, but for one; `undefined` if there is no such number. */
function findLimit(declared: string): bigint | undefined {
  const [, digits] = /^numeric\((\d+),0\)/i.exec(declared) ?? [];
  if (digits !== undefined) return 10n ** BigInt(digits);
  const bits = { smallint: 15n, integer: 31n, bigint: 63n }[declared.toLowerCase()];
  return bits === undefined ? undefined : 1n << bits;
}
