import { shownText, SinkError } from '@sluice/core';
import { quoted, type Database, type Session, type SqlValue, type TableName, type Unique } from './database.js';

/** Rows of a table that swap values of which no two may be the same. */
export interface SwappingRows {
  readonly table: TableName;
  /** The columns that identify a row. */
  readonly key: readonly string[];
  readonly unique: Unique;
  /** The keys of some of them, for messages. */
  readonly rows: readonly (readonly SqlValue[])[];
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
  { refusalOf, allowSwaps }: Database,
  { table: { given, full }, key, unique: { columns, isOfNulls = false }, rows }: SwappingRows,
  update: (assignmentOf: (number: string) => string) => Promise<unknown>,
): Promise<void> {
  const found = ((await session.columnsOf(full)) ?? []).filter(
    ({ name, isGenerated }) => columns.includes(name) && !key.includes(name) && !isGenerated,
  );
  const empty = isOfNulls ? undefined : found.find(({ isNullable }) => isNullable !== false);
  const number = found.find(({ declared }) => /^(numeric|bigint|integer|smallint)/i.test(declared));
  const column = empty ?? number ?? found.find(({ declared }) => /char|clob|text|^$/i.test(declared));
  const valueOf = (nth: string): string => (empty ? 'NULL' : number ? `-(${nth})` : `'~' || CAST(${nth} AS text)`);
  if (column) {
    try {
      await update((nth) => `${quoted(column.name)} = ${valueOf(nth)}`);
      return;
    } catch (error) {
      if (!refusalOf(error)) throw error;
    }
  }
  const shown = rows.slice(0, 3).map((values) => shownText(values.join(', ')));
  throw new SinkError(
    `Rows of ${given} swap values of ${columns.join(', ')}, of which no two may be the same, and ${given} takes no others in between: ${shown.join('; ')} (${key.join(', ')}). Nothing was changed. To allow it, ${allowSwaps}.`,
    { details: { table: given } },
  );
}
