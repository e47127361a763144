import { ConfigError, SinkError } from '@sluice/core';
import { quote, quoteTable, readNumber, type Database, type Session, type TableName } from './database.js';
import { versionColumns } from './generation.js';
import { namesBeside } from './historyTable.js';

/** Which versions of a history stay. */
export interface CompactOptions {
  /** The table of the history. */
  readonly table: string;
  /** Ms before now, more than 0: versions that ended before then go. */
  readonly keep: number;
  /** Cancels it. What was removed by then stays so, and the same call goes on. */
  readonly signal: AbortSignal;
  /** Called after each batch with the number of versions that were removed so far. */
  readonly onProgress?: ((removed: number) => void) | undefined;
}

/** What was removed from a history. */
export interface CompactReport {
  readonly removed: number;
  /** The number of the poll with which the history begins now; absent if it has none yet that is old enough to be the first. */
  readonly firstPoll?: number;
}

/** Versions that are removed in one transaction, so that whoever writes the history waits for one batch at most. */
const batchRows = 5_000;

/**
 * Removes versions that ended before a time, in batches. A history begins with its oldest poll, so the polls before that
 * time go first: from then on, nobody takes what is left of the versions for all of them.
 */
export async function compactHistory(
  database: Database,
  { table: given, keep, signal, onProgress }: CompactOptions,
  now: number,
): Promise<CompactReport> {
  // Nothing would be left of a history but the present: rather drop the table.
  if (!(keep > 0)) throw new ConfigError(`keep is ${keep}: it must be more than 0 ms.`, { option: 'keep' });
  const connection = await database.connect(signal);
  try {
    const before = new Date(Math.max(0, now - keep)).toISOString();
    const { table, firstPoll } = await connection.transaction(async (session) => {
      const full = (await database.withSchema?.(session, given)) ?? given;
      const table = { given, full };
      await checkHistory(session, database, table);
      return { table, firstPoll: await removePolls(session, database, table, before) };
    });
    let removed = 0;
    for (let found = batchRows; firstPoll !== undefined && found >= batchRows;) {
      signal.throwIfAborted();
      found = await connection.transaction((session) => removeVersions(session, database, table));
      removed += found;
      onProgress?.(removed);
    }
    return { removed, ...(firstPoll !== undefined && { firstPoll }) };
  } finally {
    await connection.close();
  }
}

async function checkHistory(session: Session, database: Database, { given, full }: TableName): Promise<void> {
  const found = (await session.readColumns(full))?.map(({ name }) => name);
  const lacking = Object.values(versionColumns).filter(({ name }) => !found?.includes(name));
  if (lacking.length === 0 && (await session.readColumns(namesBeside(full, database).polls))) return;
  const why = found ? 'is not a history' : 'is not there';
  throw new SinkError(`The table ${given} ${why}. A watch or an export writes one with the mode history.`, {
    details: { table: given },
  });
}

/** Removes the polls before the last one that is old enough, and returns its number. */
async function removePolls(
  session: Session,
  database: Database,
  { full }: TableName,
  before: string,
): Promise<number | undefined> {
  const polls = quoteTable(namesBeside(full, database).polls, database);
  const [found] = await session.rows(`SELECT max("generation") AS first FROM ${polls} WHERE "at" <= ?`, before);
  const first = found?.['first'];
  if (first === null || first === undefined) return undefined;
  await session.run(`DELETE FROM ${polls} WHERE "generation" < ?`, readNumber(first));
  return readNumber(first);
}

/** Removes a batch of the versions that ended before the history begins; returns how many it had. */
function removeVersions(session: Session, database: Database, { full }: TableName): Promise<number> {
  const table = quoteTable(full, database);
  const polls = quoteTable(namesBeside(full, database).polls, database);
  const row = database.rowId;
  const isOver = `${quote(versionColumns.to.name)} <= (SELECT min("at") FROM ${polls})`;
  // Rows of different partitions may have the same place.
  return session.run(
    `DELETE FROM ${table} WHERE ${isOver} AND ${row} IN (SELECT ${row} FROM ${table} WHERE ${isOver} LIMIT ${batchRows})`,
  );
}
