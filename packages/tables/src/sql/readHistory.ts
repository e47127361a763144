import { hash } from 'node:crypto';
import { ConfigError, SinkError, type Change } from '@sluice/core';
import {
  columnValues,
  differingFields,
  type Fields,
  instantText,
  timestampMicros,
  tryParseJson,
} from '@sluice/core/kit';
import { quote, quoteTable, readNumber, type Database, type Session } from './database.js';
import { versionColumns } from './generation.js';
import { namesBeside } from './historyTable.js';
import { Ledger } from './ledger.js';
import { isRowsRecord, rowsRecord, type JsonKind } from './rowsRecord.js';
import { keyColumn, storableKey } from './tableShape.js';

/** Which changes of a history. */
export interface HistoryChangesOptions {
  /** Those of this moment and later: ISO 8601, UTC, with milliseconds. Default: all. */
  readonly since?: string | undefined;
  /** Those of one row: its key in the watch, in JSON if it has several columns. Default: those of all rows. */
  readonly key?: string | undefined;
}

/** Which versions of a history. */
export interface HistoryVersionsOptions extends Pick<HistoryChangesOptions, 'since'> {
  /** Only these columns of the rows, as far as they have them. Default: all, which takes several times as long. */
  readonly columns?: readonly string[] | undefined;
}

/** A version of a row. Times are in ISO 8601, UTC. */
export interface RowVersion {
  /** The key of the row. */
  readonly key: string;
  /** Without the columns of the history. */
  readonly row: Fields;
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

/**
 * A table with every version of the rows of a watch, as it is at one moment. Memory does not grow with its rows. Their values
 * are what they were in JSON; a number of a column that has texts, too, is text, and what a row lacked is `null`.
 */
export interface History {
  /** The name of the source of the rows. Absent: it was not recorded, or its record is gone. */
  readonly source?: string;
  /** The columns of the rows, without those of the history. */
  readonly columns: readonly string[];
  /** The accepted walks, the oldest first. */
  polls(): AsyncIterable<HistoryPoll>;
  /** The versions that were valid then or later: those of one row follow each other, the oldest first. */
  versions(options?: HistoryVersionsOptions): AsyncIterable<RowVersion>;
  /**
   * The changes in the order of time, as the watch found them. The rows of the oldest poll are `initial`: what was before it
   * is not known. Each has an id of its own, which is the same whenever it is read, and the number of the poll as its generation.
   *
   * @throws ConfigError if the key is not one of the table.
   */
  changes(options?: HistoryChangesOptions): AsyncIterable<Change<Fields>>;
}

const { from, to, ended, generation } = versionColumns;
const own = { from: from.name, to: to.name, ended: ended.name, generation: generation.name };

/** Reads a history within a transaction. @throws SinkError if the table is not there, or is not a history. */
export async function openHistory(
  { database, where }: { readonly database: Database; readonly where: string },
  table: string,
  session: Session,
): Promise<History> {
  const existing = await session.readColumns(table);
  if (!existing) throw missingTable(database, table, where);
  const lacking = Object.values(own).filter((name) => !existing.some((column) => column.name === name));
  const { polls } = namesBeside(table, database);
  const hasPolls = (await session.readColumns(polls)) !== undefined;
  const { uniques = [] } = (await session.readTraits(table)) ?? {};
  const unique = uniques.find(({ columns }) => columns.includes(own.from) && columns.length > 1);
  if (lacking.length > 0 || !hasPolls || !unique)
    throw new SinkError(
      `The table ${JSON.stringify(table)} in ${where} is not a history: ${lacking.length > 0 ? `it lacks ${lacking.join(', ')}` : hasPolls ? `nothing makes its key and ${own.from} unique` : `there is no table ${polls}`}. A watch writes one with the mode history.`,
      { details: { table } },
    );
  const record = await new Ledger(database, table).load(rowsRecord);
  const { source, kinds = {}, ignored = [], reserved = '#"' } = isRowsRecord(record) ? record : {};
  const kindOf = new Map(Object.entries(kinds));
  const columns = existing.map(({ name, declared }, nth): HistoryColumn => {
    // PostgreSQL gives JSON as what it stands for.
    return { name, nth, declared, kind: /^jsonb?$/.test(declared) ? undefined : kindOf.get(name) };
  });
  const shape: HistoryShape = {
    table: quoteTable(table, database),
    polls: quoteTable(polls, database),
    columns: columns.filter(({ name }) => !isOwn(name)),
    stored: columns.filter(({ name }) => name === keyColumn || !isOwn(name)),
    key: unique.columns.flatMap((name) => columns.filter((column) => column.name === name && name !== own.from)),
    ignored: new Set(ignored),
    reserved,
  };
  return {
    ...(source !== undefined && { source }),
    columns: shape.columns.map(({ name }) => name),
    polls: () => readPolls(session, shape),
    versions: (options = {}) => readVersions(session, shape, options),
    changes: (options = {}) => readChanges(session, shape, options),
  };
}

export function missingTable({ hasSchemas }: Pick<Database, 'hasSchemas'>, table: string, where: string): SinkError {
  const closed = hasSchemas ? ', or its schema is closed to this user' : '';
  return new SinkError(`${where} has no table ${JSON.stringify(table)}${closed}.`);
}

interface HistoryColumn {
  readonly name: string;
  /** Its number in the table, from 0. */
  readonly nth: number;
  /** As the database calls its type. */
  readonly declared: string;
  /** What its values were in JSON, if that does not show. */
  readonly kind: JsonKind | undefined;
}

interface HistoryShape {
  /** As SQL has them. */
  readonly table: string;
  readonly polls: string;
  readonly columns: readonly HistoryColumn[];
  /** With that of the key, if it is not one of the rows. */
  readonly stored: readonly HistoryColumn[];
  readonly key: readonly HistoryColumn[];
  /** The columns that their watch does not compare. */
  readonly ignored: ReadonlySet<string>;
  readonly reserved: '#' | '#"';
}

function isOwn(name: string): boolean {
  return name === keyColumn || Object.values<string>(own).includes(name);
}

async function* readPolls(session: Session, { polls }: HistoryShape): AsyncGenerator<HistoryPoll> {
  const found = session.each(`SELECT "at", "complete" FROM ${polls} ORDER BY "generation"`);
  for await (const { at, complete } of found)
    yield { at: readTime(at), isComplete: complete === true || Number(complete) === 1 };
}

async function* readVersions(
  session: Session,
  shape: HistoryShape,
  { since, columns: wanted }: HistoryVersionsOptions,
): AsyncGenerator<RowVersion> {
  const columns = shape.columns.filter(({ name }) => wanted?.includes(name) ?? true);
  const order = [...shape.key.map(({ name }) => name), own.from].map((name) => `v.${quote(name)}`).join(', ');
  const to = quote(own.to);
  const where = since === undefined ? '' : ` WHERE ${to} IS NULL OR ${to} > ?`;
  const read = Array.from(new Set([...columns, ...shape.key]), (column) => {
    return `${selectValue('v', column)} AS ${quote(column.name)}`;
  });
  const found = session.each(
    `SELECT ${[...read, ...Object.values(own).map(quote)].join(', ')} FROM ${shape.table} AS v${where} ORDER BY ${order}`,
    ...(since === undefined ? [] : [since]),
  );
  for await (const version of found) {
    const { [own.to]: end, [own.ended]: ended } = version;
    yield {
      key: keyOf(shape, ({ name }) => version[name]),
      row: rowOf(columns, ({ name }) => version[name]),
      from: readTime(version[own.from]),
      ...(end !== null && end !== undefined && { to: readTime(end) }),
      ...((ended === 'changed' || ended === 'removed') && { ended }),
      generation: readNumber(version[own.generation]),
    };
  }
}

async function* readChanges(
  session: Session,
  shape: HistoryShape,
  { since, key }: HistoryChangesOptions,
): AsyncGenerator<Change<Fields>> {
  const wanted = key === undefined ? [] : keyConditions(shape, key);
  const sameKey = (of: string): string =>
    shape.key.map(({ name }) => `v.${quote(name)} = ${of}.${quote(name)}`).join(' AND ');
  // Found by the index of versions: a row may have any number of them.
  const previous = `(SELECT max(o.${quote(own.from)}) FROM ${shape.table} AS o WHERE ${sameKey('o')} AND o.${quote(own.from)} < v.${quote(own.from)})`;
  // What is left of the versions that ended before it may be some of them.
  const first = `(SELECT min("at") FROM ${shape.polls})`;
  /** The rows at the start are those of the first poll, however long they had been so. */
  const from = `CASE WHEN v.${quote(own.from)} <= ${first} THEN ${first} ELSE v.${quote(own.from)} END`;
  const whereAt = (time: string, isThen: string): string => {
    const conditions = [isThen, ...(since === undefined ? [] : [`${time} >= ?`]), ...wanted.map(({ sql }) => sql)];
    return ` WHERE ${conditions.join(' AND ')}`;
  };
  const now = shape.stored.map((column) => `${selectValue('v', column)} AS "v${column.nth}"`);
  const before = shape.stored.map((column) => `${selectValue('p', column)} AS "p${column.nth}"`);
  // An expression, or SQLite would look for the versions of all rows that ended then.
  const version = `SELECT ${from} AS "at", 0 AS "gone", v.${quote(own.generation)} AS "generation", CASE WHEN v.${quote(own.from)} <= ${first} THEN 'initial' WHEN p.${quote(own.generation)} IS NULL THEN 'added' ELSE 'changed' END AS "type", ${[...now, ...before].join(', ')} FROM ${shape.table} AS v LEFT JOIN ${shape.table} AS p ON ${sameKey('p')} AND p.${quote(own.from)} = ${previous} AND coalesce(p.${quote(own.to)}, p.${quote(own.from)}) = v.${quote(own.from)} AND p.${quote(own.ended)} = 'changed'${whereAt(from, `(v.${quote(own.to)} IS NULL OR v.${quote(own.to)} > ${first})`)}`;
  // With the generation of the walk that lacked it.
  const removal = `SELECT v.${quote(own.to)}, 1, q."generation", 'removed', ${[...now, ...before.map(() => 'NULL')].join(', ')} FROM ${shape.table} AS v LEFT JOIN ${shape.polls} AS q ON q."at" = v.${quote(own.to)}${whereAt(`v.${quote(own.to)}`, `v.${quote(own.ended)} = 'removed' AND v.${quote(own.to)} > ${first}`)}`;
  const parameters = [...(since === undefined ? [] : [since]), ...wanted.flatMap(({ values }) => values)];
  // Of one time, rows leave before others come. Columns have numbers there, and the values begin with the fifth one.
  const ofRow = shape.key.map((column) => 5 + shape.stored.indexOf(column));
  const sql = `${version} UNION ALL ${removal} ORDER BY 1, 2 DESC, ${ofRow.join(', ')}`;
  // Whoever takes them may be a pipe that nobody reads.
  const each = session.eachOfCopy ?? session.each;
  for await (const found of each(sql, ...parameters, ...parameters)) yield toChange(shape, found);
}

function toChange(shape: HistoryShape, found: Fields): Change<Fields> {
  const valueIn =
    (side: 'v' | 'p') =>
    ({ nth }: HistoryColumn): unknown =>
      found[`${side}${nth}`];
  const key = keyOf(shape, valueIn('v'));
  const observedAt = readTime(found['at']);
  const generation = found['generation'] === null ? 0 : readNumber(found['generation']);
  const row = rowOf(shape.columns, valueIn('v'));
  const { type } = found;
  const named = hash('sha256', JSON.stringify([shape.table, key, observedAt, type === 'removed']));
  const observed = { id: named.slice(0, 28), key, generation, observedAt };
  if (type === 'removed') return { ...observed, type: 'removed', before: row, after: null, fields: [] };
  if (type === 'initial' || type === 'added') return { ...observed, type, before: null, after: row, fields: [] };
  const before = rowOf(shape.columns, valueIn('p'));
  const fields = differingFields(before, row, shape.ignored);
  return { ...observed, type: 'changed', before, after: row, fields };
}

function rowOf(columns: readonly HistoryColumn[], valueOf: (column: HistoryColumn) => unknown): Fields {
  return Object.fromEntries(columns.map((column) => [column.name, readValue(valueOf(column), column)]));
}

/** A driver would cut an instant of PostgreSQL to milliseconds. */
function selectValue(of: string, { name, declared }: HistoryColumn): string {
  const value = `${of}.${quote(name)}`;
  return declared === instant ? `to_json(${value} AT TIME ZONE 'UTC') #>> '{}'` : value;
}

const instant = 'timestamp with time zone';

function readValue(value: unknown, { kind, declared }: HistoryColumn): unknown {
  if (declared === instant && typeof value === 'string') {
    const micros = timestampMicros(`${value}Z`);
    return micros === undefined ? value : instantText(micros);
  }
  if (value instanceof Date) return value.toISOString();
  // SQLite has no other integers.
  if (typeof value === 'bigint') return value !== 0n;
  if (typeof value !== 'string' || kind === undefined || kind === 'text') return value;
  if (kind === 'number') return readExactly(value);
  const parsed = tryParseJson(value);
  return parsed === undefined ? value : parsed;
}

/** A number that has these digits; else the text. */
function readExactly(text: string): unknown {
  const number = Number(text);
  return String(number) === text || columnValues.number.read(number) === text ? number : text;
}

/** A driver gives a point in time as one, or as the text that was stored. */
function readTime(value: unknown): string {
  return value instanceof Date ? value.toISOString() : String(value);
}

/** The key of a row in the watch. */
function keyOf({ key, reserved }: HistoryShape, valueOf: (column: HistoryColumn) => unknown): string {
  const texts = key.map((column) => String(readValue(valueOf(column), column)));
  const [first = ''] = texts;
  if (texts.length > 1) return JSON.stringify(texts);
  return key[0]?.name === keyColumn && first.startsWith(reserved) ? String(JSON.parse(first.slice(1))) : first;
}

interface Condition {
  /** Of a version `v`. */
  readonly sql: string;
  readonly values: readonly string[];
}

/** The conditions of a key. @throws ConfigError if it has several columns, and is not a list of as many values. */
function keyConditions({ key, reserved }: HistoryShape, wanted: string): readonly Condition[] {
  const [first] = key;
  if (key.length === 1 && first?.name === keyColumn) {
    // A watch has them as text, an export does not.
    const number = reserved === '#' && /^-?\d+$/.test(wanted) ? [`#${wanted}`] : [];
    const values = [storableKey(wanted, reserved), ...number];
    return [{ sql: `v.${quote(keyColumn)} IN (${values.map(() => '?').join(', ')})`, values }];
  }
  const values = key.length === 1 ? [wanted] : parseList(wanted);
  if (values?.length !== key.length)
    throw new ConfigError(
      `The key has the columns ${key.map(({ name }) => name).join(', ')}: give a JSON array with their values.`,
      { option: 'key' },
    );
  return key.map(({ name, kind, declared }, nth) => {
    const isText = /char|clob|text|^$/i.test(declared);
    const value = kind === 'boolean' ? "(? = 'true')" : isText ? '?' : `CAST(? AS ${declared})`;
    return { sql: `v.${quote(name)} = ${value}`, values: values.slice(nth, nth + 1) };
  });
}

function parseList(text: string): readonly string[] | undefined {
  const value = tryParseJson(text);
  return Array.isArray(value) ? value.map(String) : undefined;
}
