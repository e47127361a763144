import { CheckpointError, ConfigError, SinkError, type RowKey, type RowSchema } from '@sluice/core';
import {
  checkColumns,
  checkRow,
  chooseColumns,
  type Column,
  fieldReader,
  type Fields,
  hintFor,
  inWords,
  shownText,
} from '@sluice/core/kit';
import {
  declareType,
  nameInSchema,
  type Database,
  type ExistingColumn,
  type SqlValue,
  type TableColumn,
} from './database.js';
import { asciiJson, sqlReader, storableText } from './sqlValue.js';

/** The column of a row's key, where no columns are. */
export const keyColumn = '_key';
/** The column of a staging table with the key that the source has of a row. */
export const ownKeyColumn = '_sluice_own';
/** The column of the fields that are no columns. */
export const extraColumn = 'extra';
/** Names that begin so are the sink's own. */
const reserved = /^(_sluice.*|_rowid_)$/is;

/**
 * What becomes of rows that the table has.
 * - `fail`: they are somebody else's, and the export is refused.
 * - `append`: they stay.
 * - `merge`: those with the key of a new row are replaced by it.
 * - `replace`: they go; readers see the old rows until they see the new ones.
 */
export type TableMode = 'fail' | 'append' | 'merge' | 'replace';

/** What a table has to look like. */
export interface TableColumns {
  readonly columns: readonly TableColumn[];
  /** The columns that identify a row; empty if none do. */
  readonly key: readonly string[];
  /** The column of staged rows with the key that their source has: one of the table, or `_sluice_own`. Default: none. */
  readonly ownKey?: string | undefined;
  /** Columns that the table gets if it lacks them. Default: none. */
  readonly mayLack?: ReadonlySet<string> | undefined;
}

/** The columns of a table, and how rows become its rows. */
export interface TableShape<T> extends TableColumns {
  /** A new list of a row's values. @throws SinkError if one does not fit, which names row and column. */
  readValues(row: T, nth: number): SqlValue[];
  /** The key that the source has of a row, as text that no other key has; null if it has none. */
  readOwnKey(row: T): string | null;
}

/**
 * The shape of a table's rows. If the table has a column `_key`, each row gets its key in the source there, whatever the
 * mode: a later merge would take it for a new one otherwise.
 *
 * @param existing the columns of the table, or of the staging table of a run that began; absent if it is not there
 * @param isStaged they are those of a staging table, which an earlier version may have created
 * @throws ConfigError if there are no columns, one is unknown, or rows need a key and have none
 */
export function createTableShape<T>(
  database: Database,
  schema: RowSchema<T> | undefined,
  { columns: wanted, key: keyNames, mode, isCanonical, extra = false, schema: newFields = 'discard' }: ShapeOptions,
  existing: readonly ExistingColumn[] = [],
  isStaged = false,
): TableShape<T> {
  const chosen = chooseColumns(wanted, schema, 'table');
  const fields = new Set([...chosen.map(({ name }) => name), ...(schema?.columns ?? [])]);
  if (extra) checkExtra(fields, newFields);
  const declared = extra ? [...chosen, { name: extraColumn, type: 'json' } as const] : chosen;
  const isGrowing = newFields === 'evolve';
  // A sealed run is published with the columns that it began with.
  const columns: readonly Column[] = isStaged && isGrowing ? stagedColumns(declared, existing, isCanonical) : declared;
  const names = columns.map(({ name }) => name);
  for (const name of names) {
    const fault = database.findNameFault(name, 'column');
    if (fault !== undefined)
      throw new ConfigError(`The column ${JSON.stringify(name)} can't be stored: its name ${fault}.`);
  }
  const { foldName: fold } = database;
  const byFold = new Map<string, string>();
  for (const name of names) {
    const twin = byFold.get(fold(name));
    if (twin !== undefined)
      throw new ConfigError(
        `${database.name} takes the columns ${twin} and ${name} for the same. Name the columns to store without one of them.`,
      );
    byFold.set(fold(name), name);
  }
  const own = names.find((name) => reserved.test(name));
  if (own !== undefined)
    throw new ConfigError(
      `The column ${JSON.stringify(own)} can't be stored: the name is used by the database or by Sluice.`,
    );
  const rowKey = schema?.key?.bind(schema);
  const isKeyed = existing.some(
    ({ name, declared, isGenerated = false }) =>
      fold(name) === keyColumn && database.types.text.fits.test(declared) && !isGenerated,
  );
  const canFill = rowKey !== undefined && !names.includes(keyColumn) && isKeyed;
  const needsKey = mode === 'merge' || mode === 'history';
  const isByRowKey = keyNames === undefined && (needsKey || (mode === 'replace' && canFill));
  if (isByRowKey && !rowKey)
    throw new ConfigError('This needs to know which rows are the same.', {}, [{ kind: 'set', option: 'key' }]);
  if (keyNames) {
    checkColumns(keyNames, undefined);
    const missing = keyNames.find((name) => !names.includes(name));
    if (missing !== undefined)
      throw new ConfigError(
        `The key has ${JSON.stringify(missing)}, which is not a column of the table. ${hintFor(missing, names)}`,
      );
  }
  if (isByRowKey && names.includes(keyColumn))
    throw new ConfigError(`The source has a column ${keyColumn} of its own.`, {}, [{ kind: 'set', option: 'key' }]);
  const json = columns.find(({ name, type }) => type === 'json' && keyNames?.includes(name));
  if (json) throw new ConfigError(`The key has ${JSON.stringify(json.name)}, which is JSON: it has no equality.`);
  const key = isByRowKey ? [keyColumn] : (keyNames ?? []);
  const hasKeyColumn = isByRowKey || canFill;
  const canStage = !isStaged || existing.some(({ name }) => name === ownKeyColumn);
  const readers = columns.map((column) => ({
    column,
    field: extra && column.name === extraColumn ? extraReader(fields) : fieldReader(column.name),
    read: sqlReader(column.type, database, isCanonical),
    isKey: key.includes(column.name),
  }));
  return {
    columns: hasKeyColumn ? [...columns, { name: keyColumn, type: 'text' }] : columns,
    key,
    mayLack: isGrowing ? new Set(names.filter((name) => !key.includes(name))) : undefined,
    ownKey: hasKeyColumn ? keyColumn : rowKey && key.length > 0 && canStage ? ownKeyColumn : undefined,
    readOwnKey: (row) => ownKeyText(rowKey?.(row)),
    readValues(row, nth) {
      const given = checkRow(row, 'a table');
      if (newFields === 'freeze') checkFields(given, fields, nth);
      const values: SqlValue[] = [];
      for (const { column, field, read, isKey } of readers) {
        const value = field(given);
        if (value !== null && value !== undefined) {
          const found = read(value);
          if (found === undefined) throw misfit(database, column, value, nth);
          if (isKey) checkUnchanged(column, value, found, nth);
          values.push(found);
        } else if (!isKey) values.push(null);
        else throw new SinkError(`Row ${nth} has no ${column.name}, which is a part of its key.`);
      }
      if (hasKeyColumn && rowKey) values.push(keyText(rowKey(row), nth));
      return values;
    },
  };
}

/**
 * What becomes of fields that are not columns of the source: `freeze` refuses their row, `discard` leaves them out. So does
 * `evolve`, which adds columns of the source to a table that lacks them.
 */
export type NewFields = 'freeze' | 'discard' | 'evolve';

export interface ShapeOptions {
  readonly columns?: readonly string[] | undefined;
  /** Default `discard`. */
  readonly schema?: NewFields | undefined;
  /** Adds the column `extra`. Default `false`. */
  readonly extra?: boolean | undefined;
  readonly key?: readonly string[] | undefined;
  /** A merge or a history needs a key: without `key`, the table gets a column for the source's own. Absent for a mirror. */
  readonly mode?: TableMode | 'history' | undefined;
  /** Equal values are stored as the same text, in whichever notation they come. Default `false`: as they come. */
  readonly isCanonical?: boolean;
}

/** @throws ConfigError if the column `extra` can't be had. */
function checkExtra(fields: ReadonlySet<string>, newFields: NewFields): void {
  if (newFields === 'freeze')
    throw new ConfigError('Fields that are no columns are either refused (freeze) or stored (extra).', {
      option: 'extra',
    });
  if (!fields.has(extraColumn)) return;
  throw new ConfigError(
    (option = 'extra') => `${option} can't add a column of that name: there is one called ${extraColumn} already.`,
    { option: 'extra' },
  );
}

/** Reads the fields that are no columns; `undefined` if there are none. */
function extraReader(fields: ReadonlySet<string>): (row: Fields) => unknown {
  return (row) => {
    const others = Object.entries(row).filter(([name]) => !fields.has(name));
    return others.length === 0 ? undefined : Object.fromEntries(others);
  };
}

/** @throws CheckpointError if rows were staged with a column that is not declared any more */
function stagedColumns(
  declared: readonly Column[],
  staged: readonly ExistingColumn[],
  isHistory = false,
): readonly Column[] {
  const known = new Set(declared.map(({ name }) => name));
  const lost = staged.find(({ name }) => !known.has(name) && name !== keyColumn && !reserved.test(name));
  if (lost && !isHistory)
    throw new CheckpointError(
      `The interrupted run has the column ${lost.name}, which the source has no more.`,
      { column: lost.name },
      [{ kind: 'restart' }],
    );
  return declared.filter(({ name }) => staged.some((column) => column.name === name));
}

function checkFields(given: Fields, known: ReadonlySet<string>, nth: number): void {
  const field = Object.keys(given).find((name) => !known.has(name));
  if (field === undefined) return;
  throw new SinkError(
    (option = 'schema') =>
      `Row ${nth} has the field ${shownText(field)}, which is not a column of the source. Declare the column, or say in ${option} that new fields are left out (discard).`,
    { details: { row: nth, column: field, option: 'schema' } },
  );
}

/** Numbers and text are never the same key: text that begins with # is escaped. */
function keyText(key: RowKey, nth: number): string {
  if (typeof key === 'string') return storableKey(key, '#');
  if (Number.isSafeInteger(key)) return `#${key}`;
  throw new SinkError(`Row ${nth}: its key in the source is ${inWords(key)}, and must be text or a whole number.`, {
    details: { row: nth, option: 'key' },
    advice: [{ kind: 'set', option: 'key' }],
  });
}

/** In ASCII, which every database can store, and compared by its characters alone: 1 and "1" are two keys. */
function ownKeyText(key: unknown): string | null {
  return typeof key === 'string' || Number.isFinite(key) ? asciiJson(key) : null;
}

/** A part of a key with another character in it could be that of another row. */
function checkUnchanged({ name, type }: TableColumn, value: unknown, found: SqlValue, nth: number): void {
  if (type !== 'text' || typeof value !== 'string' || value === found) return;
  throw new SinkError(
    `Row ${nth}: ${name}, which is a part of its key, has a character that no table can store: ${shownText(value)}. Name other columns as key, or change the value with pipePages(map(…)).`,
    { details: { row: nth, column: name } },
  );
}

/**
 * A key as text of the column `_key`, where no two keys have the same. What can't be stored, or begins with what is
 * reserved, is `#` and its JSON.
 */
export function storableKey(key: string, reserved: '#' | '#"'): string {
  return storableText(key) === key && !key.startsWith(reserved) ? key : `#${JSON.stringify(key)}`;
}

function misfit(database: Database, { name, type }: TableColumn, value: unknown, nth: number): SinkError {
  const text = typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
  const shown = text === undefined ? `of type ${typeof value}` : shownText(text);
  return new SinkError(
    `Row ${nth}: ${name} is ${shown}, which is not ${type === 'integer' ? 'an' : 'a'} ${type} that ${database.name} can store unchanged. Declare another type for the column, or change the value with pipePages(map(…)).`,
    { details: { row: nth, column: name } },
  );
}

/** @throws ConfigError if a table can't have this name. */
export function checkTableName(database: Database, table: string): void {
  if (table === '') throw new ConfigError('The name of the table is empty.', { option: 'table' });
  const isOwn = /^_sluice/i.test(nameInSchema(table, database));
  const fault = isOwn ? "is one of Sluice's own" : database.findNameFault(table, 'table');
  if (fault === undefined) return;
  throw new ConfigError(`The table can't be ${JSON.stringify(table)}: its name ${fault}.`, { option: 'table' });
}

/** @throws SinkError, which names the columns, if an existing table can't take the rows unchanged. */
export function checkTable(
  database: Database,
  table: string,
  { columns, key, mayLack }: TableColumns,
  existing: readonly ExistingColumn[],
): void {
  const { foldName: fold } = database;
  const known = new Set(columns.map(({ name }) => fold(name)));
  const required = existing.filter(({ name, isRequired }) => isRequired && !known.has(fold(name)));
  const byFold = new Map(existing.map((column) => [fold(column.name), column]));
  const isKeyColumn = (name: string): boolean => name === keyColumn && key.includes(name);
  const faults = columns.flatMap<string>(({ name, type }) => {
    const found = byFold.get(fold(name));
    if (!found && mayLack?.has(name)) {
      const twin = existing.find((column) => column.name.toLowerCase() === name.toLowerCase());
      return twin ? [`${name} is missing, and would differ from ${twin.name} only in case`] : [];
    }
    if (!found)
      return [isKeyColumn(name) ? `${name}, for the key that the source has, is missing` : `${name} is missing`];
    if (found.isGenerated) return [`${name} is computed by the database`];
    const wanted = declareType(database, type);
    if (wanted.fits.test(found.declared)) return [];
    return [`${name} is ${found.declared || 'untyped'} and should be ${wanted.name}`];
  });
  for (const { name } of required) faults.push(`${name} must not be null, and the rows lack it`);
  if (faults.length === 0) return;
  throw new SinkError(
    `The table ${table} has other columns than the rows: ${faults.join('; ')}. Name another table, or change it.`,
    {
      details: { table },
      advice: key.some((name) => isKeyColumn(name) && !byFold.has(fold(name))) ? [{ kind: 'set', option: 'key' }] : [],
    },
  );
}
