import { createHash } from 'node:crypto';
import { ConfigError, SinkError, type Change } from '@sluice/core';
import { quote, quoteTable, readNumber, type Database, type Session, type SqlValue } from './database.js';
import { versionColumns } from './generation.js';
import { namesBeside } from './historyTable.js';
import { keyColumn, storableKey } from './tableShape.js';

type Row = Readonly<Record<string, unknown>>;

/** Statements within one transaction, whose rows need not be in memory at once. */
export interface RowReader extends Session {
  /** The rows of a query. Parameters stand where the text has `?`. */
  each(sql: string, ...parameters: readonly SqlValue[]): AsyncIterable<Row>;
}

/** Which changes of a history. */
export interface HistoryChangesOptions {
  /** Those of this moment and later: ISO 8601, UTC, with milliseconds. Default: all. */
  readonly since?: string | undefined;
  /** Those of one row: its key in the watch, in JSON if it has several columns. Default: those of all rows. */
  readonly key?: string | undefined;
}

/** A version of a row. Times are in ISO 8601, UTC. */
export interface RowVersion {
  /** The key of the row. */
  readonly key: string;
  /** Without the columns of the history. */
  readonly row: Row;
  readonly from: string;
  /** Absent: it is the present one. */
  readonly to?: string;
  /** The next version follows, or the row was removed. Absent: it is the present one. */
  readonly ended?: 'changed' | 'removed';
  /** The generation that it came with. */
  readonly generation: number;
}

/** A complete walk that was accepted. */
export interface HistoryPoll {
  /** ISO 8601, UTC. */
  readonly at: string;
  /** The API did not say that rows are missing. */
  readonly isComplete: boolean;
}

/** A table with every version of the rows of a watch, as it is at one moment. Memory does not grow with its rows. */
export interface History {
  /** The columns of the rows, without those of the history. */
  readonly columns: readonly string[];
  /** The accepted walks, the oldest first. */
  polls(): AsyncIterable<HistoryPoll>;
  /** The versions that were valid then or later: those of one row follow each other, the oldest first. */
  versions(options?: Pick<HistoryChangesOptions, 'since'>): AsyncIterable<RowVersion>;
  /**
   * The changes in the order of time, as the watch found them. The rows of the oldest poll are `initial`: what was before it
   * is not known. Each has an id of its own, which is the same whenever it is read; `fields` are the columns that differ.
   *
   * @throws ConfigError if the key is not one of the table.
   */
  changes(options?: HistoryChangesOptions): AsyncIterable<Change<Row>>;
}

const { from, to, ended, generation } = versionColumns;
const own = { from: from.name, to: to.name, ended: ended.name, generation: generation.name };

/** Reads a history within a transaction. @throws SinkError if the table is not there, or is not a history. */
export async function openHistory(
  database: Pick<Database, 'hasSchemas'>,
  table: string,
  { reader, where }: { readonly reader: RowReader; readonly where: string },
): Promise<History> {
  const existing = await reader.readColumns(table);
  if (!existing) throw missingTable(database, table, where);
  const lacking = Object.values(own).filter((name) => !existing.some((column) => column.name === name));
  const { polls } = namesBeside(table, database);
  const hasPolls = (await reader.readColumns(polls)) !== undefined;
  const { uniques = [] } = (await reader.readTraits(table)) ?? {};
  const unique = uniques.find(({ columns }) => columns.includes(own.from) && columns.length > 1);
  if (lacking.length > 0 || !hasPolls || !unique)
    throw new SinkError(
      `The table ${JSON.stringify(table)} in ${where} is not a history: ${lacking.length > 0 ? `it lacks ${lacking.join(', ')}` : hasPolls ? `nothing makes its key and ${own.from} unique` : `there is no table ${polls}`}. A watch writes one with the mode history.`,
      { details: { table } },
    );
  const ofKey = unique.columns.filter((name) => name !== own.from);
  const columns = existing.map(({ name }) => name).filter((name) => !isOwn(name));
  const shape: HistoryShape = {
    table: quoteTable(table, database),
    polls: quoteTable(polls, database),
    columns,
    stored: ofKey.includes(keyColumn) ? [...columns, keyColumn] : columns,
    key: ofKey,
    // Of the types that rows have, SQLite stores only one as a number.
    booleans: new Set(existing.filter(({ declared }) => /^integer$/i.test(declared)).map(({ name }) => name)),
    hasTextKey: existing.every(({ name, declared }) => !ofKey.includes(name) || /text|char/i.test(declared)),
  };
  return {
    columns,
    polls: () => readPolls(reader, shape),
    versions: ({ since } = {}) => readVersions(reader, shape, since),
    changes: (options = {}) => readChanges(reader, shape, options),
  };
}

export function missingTable({ hasSchemas }: Pick<Database, 'hasSchemas'>, table: string, where: string): SinkError {
  const closed = hasSchemas ? ', or its schema is closed to this user' : '';
  return new SinkError(`${where} has no table ${JSON.stringify(table)}${closed}.`);
}

interface HistoryShape {
  /** As SQL has them. */
  readonly table: string;
  readonly polls: string;
  readonly columns: readonly string[];
  /** With that of the key, if it is not one of the rows. */
  readonly stored: readonly string[];
  readonly key: readonly string[];
  readonly booleans: ReadonlySet<string>;
  readonly hasTextKey: boolean;
}

function isOwn(name: string): boolean {
  return name === keyColumn || Object.values<string>(own).includes(name);
}

async function* readPolls(reader: RowReader, { polls }: HistoryShape): AsyncGenerator<HistoryPoll> {
  const found = reader.each(`SELECT "at", "complete" FROM ${polls} ORDER BY "generation"`);
  for await (const { at, complete } of found)
    yield { at: readTime(at), isComplete: complete === true || Number(complete) === 1 };
}

async function* readVersions(
  reader: RowReader,
  shape: HistoryShape,
  since: string | undefined,
): AsyncGenerator<RowVersion> {
  const order = [...shape.key, own.from].map(quote).join(', ');
  const to = quote(own.to);
  const where = since === undefined ? '' : ` WHERE ${to} IS NULL OR ${to} > ?`;
  const found = reader.each(
    `SELECT * FROM ${shape.table}${where} ORDER BY ${order}`,
    ...(since === undefined ? [] : [since]),
  );
  for await (const version of found) {
    const { [own.to]: end, [own.ended]: ended } = version;
    yield {
      key: keyOf(shape, (name) => version[name]),
      row: rowOf(shape, (name) => version[name]),
      from: readTime(version[own.from]),
      ...(end !== null && end !== undefined && { to: readTime(end) }),
      ...((ended === 'changed' || ended === 'removed') && { ended }),
      generation: readNumber(version[own.generation]),
    };
  }
}

async function* readChanges(
  reader: RowReader,
  shape: HistoryShape,
  { since, key }: HistoryChangesOptions,
): AsyncGenerator<Change<Row>> {
  const wanted = key === undefined ? [] : keyValues(shape, key);
  const sameKey = shape.key.map((name) => `v.${quote(name)} = p.${quote(name)}`).join(' AND ');
  const ofKey = shape.key.map((name) =>
    shape.hasTextKey ? `v.${quote(name)} = ?` : `CAST(v.${quote(name)} AS text) = ?`,
  );
  // What is left of the versions that ended before it may be some of them.
  const first = `(SELECT min("at") FROM ${shape.polls})`;
  const whereAt = (column: string, isThen: string): string => {
    const conditions = [
      isThen,
      ...(since === undefined ? [] : [`v.${quote(column)} >= ?`]),
      ...(key === undefined ? [] : ofKey),
    ];
    return ` WHERE ${conditions.join(' AND ')}`;
  };
  const now = shape.stored.map((name, nth) => `v.${quote(name)} AS "v${nth}"`);
  const before = shape.stored.map((name, nth) => `p.${quote(name)} AS "p${nth}"`);
  const version = `SELECT v.${quote(own.from)} AS "at", 0 AS "gone", v.${quote(own.generation)} AS "generation", CASE WHEN v.${quote(own.from)} <= ${first} THEN 'initial' WHEN p.${quote(own.generation)} IS NULL THEN 'added' ELSE 'changed' END AS "type", ${[...now, ...before].join(', ')} FROM ${shape.table} AS v LEFT JOIN ${shape.table} AS p ON ${sameKey} AND p.${quote(own.to)} = v.${quote(own.from)} AND p.${quote(own.ended)} = 'changed'${whereAt(own.from, `(v.${quote(own.to)} IS NULL OR v.${quote(own.to)} > ${first})`)}`;
  // With the generation of the walk that lacked it.
  const removal = `SELECT v.${quote(own.to)}, 1, q."generation", 'removed', ${[...now, ...before.map(() => 'NULL')].join(', ')} FROM ${shape.table} AS v LEFT JOIN ${shape.polls} AS q ON q."at" = v.${quote(own.to)}${whereAt(own.to, `v.${quote(own.ended)} = 'removed' AND v.${quote(own.to)} > ${first}`)}`;
  const parameters = [...(since === undefined ? [] : [since]), ...wanted];
  // Of one time, rows leave before others come. Columns have numbers there, and the values begin with the fifth one.
  const ofRow = shape.key.map((name) => 5 + shape.stored.indexOf(name));
  const sql = `${version} UNION ALL ${removal} ORDER BY 1, 2 DESC, ${ofRow.join(', ')}`;
  for await (const found of reader.each(sql, ...parameters, ...parameters)) yield toChange(shape, found);
}

function toChange(shape: HistoryShape, found: Row): Change<Row> {
  const valueIn =
    (side: 'v' | 'p') =>
    (name: string): unknown =>
      found[`${side}${shape.stored.indexOf(name)}`];
  const key = keyOf(shape, valueIn('v'));
  const observedAt = readTime(found['at']);
  const generation = found['generation'] === null ? 0 : readNumber(found['generation']);
  const row = rowOf(shape, valueIn('v'));
  const { type } = found;
  const named = createHash('sha256').update(JSON.stringify([shape.table, key, observedAt, type === 'removed']));
  const observed = { id: named.digest('hex').slice(0, 28), key, generation, observedAt };
  if (type === 'removed') return { ...observed, type: 'removed', before: row, after: null, fields: [] };
  if (type === 'initial' || type === 'added') return { ...observed, type, before: null, after: row, fields: [] };
  const before = rowOf(shape, valueIn('p'));
  const fields = shape.columns.filter((name) => JSON.stringify(before[name]) !== JSON.stringify(row[name]));
  return { ...observed, type: 'changed', before, after: row, fields };
}

function rowOf({ columns, booleans }: HistoryShape, valueOf: (name: string) => unknown): Row {
  return Object.fromEntries(columns.map((name) => [name, readValue(valueOf(name), booleans.has(name))]));
}

function readValue(value: unknown, isBoolean: boolean): unknown {
  if (value instanceof Date) return value.toISOString();
  return typeof value === 'bigint' ? (isBoolean ? value !== 0n : value.toString()) : value;
}

/** A driver gives a point in time as one, or as the text that was stored. */
function readTime(value: unknown): string {
  return value instanceof Date ? value.toISOString() : String(value);
}

/** The key of a row in the watch. */
function keyOf({ key }: HistoryShape, valueOf: (name: string) => unknown): string {
  const texts = key.map((name) => String(readValue(valueOf(name), false)));
  const [first = ''] = texts;
  if (texts.length > 1) return JSON.stringify(texts);
  return key[0] === keyColumn && first.startsWith('#"') ? String(JSON.parse(first.slice(1))) : first;
}

/** What the columns of a key have, in their order. @throws ConfigError if they are several, and it is not a list of as many. */
function keyValues({ key }: HistoryShape, wanted: string): readonly string[] {
  if (key.length === 1) return [key[0] === keyColumn ? storableKey(wanted, '#"') : wanted];
  const values = parseList(wanted);
  if (values?.length === key.length) return values;
  throw new ConfigError(`The key has the columns ${key.join(', ')}: give a JSON array with their values.`, {
    option: 'key',
  });
}

function parseList(text: string): readonly string[] | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value.map(String) : undefined;
  } catch {
    return undefined;
  }
}
