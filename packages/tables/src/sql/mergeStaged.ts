import { CheckpointError, ConfigError, SinkError } from '@sluice/core';
import { shownText, type RowChanges, type WalkEnd } from '@sluice/core/kit';
import {
  countRows,
  hasRows,
  quote,
  readNumber,
  type Changes,
  type Session,
  type TableTraits,
  type Unique,
} from './database.js';
import { checkRemoval, type MaxRemoved } from './maxRemoved.js';
import type { StagingTable } from './stagingTable.js';
import type { TableMode } from './tableShape.js';
import type { TargetTable } from './targetTable.js';
import { readExtremes, vacateRows } from './vacateRows.js';

/** Names within a statement, which no table may have. */
const staged = '_sluice_staged';
const each = '_sluice_each';
const nth = '_sluice_nth';

/**
 * @throws ConfigError if it is a view, or other tables would lose rows; SinkError if the target has rows that this mode
 * does not touch, rows with the same key, or other columns, or loses its rows in a crash.
 */
export async function checkMode(
  session: Session,
  target: TargetTable,
  mode: TableMode,
): Promise<TableTraits | undefined> {
  const traits = await target.check(
    session,
    ['table', 'writable'],
    'takes no rows, since it is a view or the like. Name a table.',
  );
  if (!traits) return undefined;
  const { given: table } = target.name;
  if (mode === 'replace' && target.key.length === 0 && traits.isReferenced)
    throw new ConfigError(
      `Other tables refer to ${table}, and their rows would go or change with all of its rows. With a key, mode replace changes rows that stay in place.`,
      { table },
      [{ kind: 'set', option: 'key' }],
    );
  if (mode === 'merge' || mode === 'replace') await refuseTwins(session, target, traits);
  if (mode === 'merge') await refuseKeyless(session, target);
  if (mode === 'fail' && (await hasRows(session, target.sql)))
    throw new SinkError(
      (option = 'mode') =>
        `The table ${table} has rows already. Name another table, or say in ${option} what becomes of them: append, merge (which needs a key) or replace.`,
      { details: { option: 'mode', table } },
    );
  return traits;
}

/** @throws SinkError if rows of the target have the same key: they can't be told apart. */
async function refuseTwins(
  session: Session,
  { name, sql, key, keyNames }: TargetTable,
  { uniques }: TableTraits,
): Promise<void> {
  const isUnique = uniques.some(({ columns, isPartial }) => !isPartial && columns.every((name) => key.includes(name)));
  if (key.length === 0 || isUnique) return;
  const isKnown = key.map((name) => `${quote(name)} IS NOT NULL`).join(' AND ');
  const [twins] = await session.rows(
    `SELECT ${keyNames}, count(*) AS _sluice_rows FROM ${sql} WHERE ${isKnown} GROUP BY ${keyNames} HAVING count(*) > 1 LIMIT 1`,
  );
  if (!twins) return;
  const shown = key.map((name) => `${name} ${shownText(String(twins[name]))}`).join(', ');
  throw new SinkError(
    `The table ${name.given} has ${String(twins['_sluice_rows'])} rows with the same key (${shown}), which can't be told apart. Nothing was changed. Remove all but one, or choose a key that identifies a row.`,
    { details: { option: 'key', table: name.given } },
  );
}

/** @throws SinkError if rows of the target have no key: those of the export would be added beside them. */
async function refuseKeyless(session: Session, { name, sql, key }: TargetTable): Promise<void> {
  const keyless = `${sql} WHERE ${key.map((column) => `${quote(column)} IS NULL`).join(' OR ')}`;
  if (key.length === 0 || !(await hasRows(session, keyless))) return;
  const rows = await countRows(session, keyless);
  throw new SinkError(
    (option = 'mode') =>
      `${rows} ${rows === 1 ? 'row' : 'rows'} of the table ${name.given} ${rows === 1 ? 'has' : 'have'} no ${key.join(', ')}, so the export would add such rows again. Nothing was changed. Remove them, or replace all rows once: replace in ${option}.`,
    { details: { option: 'mode', table: name.given } },
  );
}

/**
 * Makes the rows of a staging table those of its target, and drops it.
 *
 * @param rows how many were staged
 * @param end if rows may be missing, `replace` removes none
 * @param maxRemoved how many rows `replace` may remove. Default: all
 * @throws SinkError if the target does not take them all, whatever it does with them, if `replace` can't tell old rows
 * from new ones after an incomplete walk, or would remove too many; CheckpointError if staged rows are gone, or their keys were compared in another
 * way than those of the target are now
 */
export async function mergeStaged(
  session: Session,
  staging: StagingTable,
  mode: TableMode,
  rows: number,
  end: WalkEnd = { isIncomplete: false },
  maxRemoved?: MaxRemoved,
): Promise<Published> {
  const { target } = staging;
  const traits = await checkMode(session, target, mode);
  // Old rows without a key would stay, and be there twice.
  if (traits && mode === 'replace' && end.isIncomplete) await refuseKeyless(session, target);
  checkStaged(target.name.given, rows, await staging.countRows(session));
  if (traits) await checkStagedAs(session, staging);
  await staging.refuseCollapsed(session);
  const merge = traits && new StagedMerge(session, staging, traits, { mode, maxRemoved });
  const twins = target.key.length > 0 ? await staging.keepLastPerKey(session) : 0;
  if (!merge) {
    await staging.becomeTarget(session);
    return { rowsNotRemoved: 0 };
  }
  const published = await merge.updateThenInsert(rows - twins, end).catch((error: unknown) => {
    throw explainTwin(error, target, mode) ?? error;
  });
  await staging.drop(session);
  return published;
}

/** What to do where the table takes no two rows with the same values, e.g. of the column `_key`. */
function explainTwin(error: unknown, { database, name }: TargetTable, mode: TableMode): SinkError | undefined {
  const refusal = database.readRefusal(error);
  if (refusal?.isTwin !== true) return undefined;
  const remedy = (option: string): string =>
    mode === 'append' ? ` With merge in ${option}, rows take the place of those with their keys.` : '';
  return new SinkError(
    (option = 'mode') =>
      `The table ${name.given} takes no two rows with these values: ${refusal.message} Nothing was changed.${remedy(option)}`,
    { details: { option: 'mode', table: name.given }, cause: error },
  );
}

/** @throws CheckpointError if rows that were committed are gone */
export function checkStaged(table: string, expected: number, found: number): void {
  if (found === expected) return;
  throw new CheckpointError(
    `The unfinished export into ${table} has staged ${expected} rows, and ${found} are there: somebody changed its staging table.`,
    { table },
    [{ kind: 'restart' }],
  );
}

/** The target may have been altered while rows were staged. */
export async function checkStagedAs(session: Session, staging: StagingTable): Promise<void> {
  const { key, name: table } = staging.target;
  for (const { name, condition } of await staging.listCuts(session)) {
    const [row] = await session.rows(
      `SELECT ${quote(name)} AS value, ${staging.order} AS place FROM ${staging.sql} WHERE ${condition} LIMIT 1`,
    );
    if (row) throw staging.refuse(name, row['value'], row['place'], 'it would be cut');
  }
  if (key.length === 0) return;
  const readCollations = async (of: string): Promise<string> => {
    const columns = (await session.readColumns(of)) ?? [];
    return JSON.stringify(key.map((key) => columns.find(({ name }) => name === key)?.collation ?? null));
  };
  if ((await readCollations(staging.name)) === (await readCollations(table.full))) return;
  throw new CheckpointError(
    `The key of ${table.given} was altered during the export: it takes other texts for equal now.`,
    { table: table.given },
    [{ kind: 'restart' }],
  );
}

/** What became of a table's rows. */
export interface Published {
  /** Rows that would have been removed after a complete walk. */
  readonly rowsNotRemoved: number;
  readonly changes?: RowChanges;
}

/** What a table has before rows are added to it. */
interface Before {
  /** Rows with the values of new ones. */
  readonly hasEqual: boolean;
  readonly changes?: Changes | undefined;
}

/** Rows on their way from a staging table into a target that is there, within one transaction. */
class StagedMerge {
  readonly #session: Session;
  readonly #staging: StagingTable;
  readonly #target: TargetTable;
  readonly #traits: TableTraits;
  readonly #mode: TableMode;
  readonly #maxRemoved: MaxRemoved | undefined;
  /** Rows that stay are changed in place, so that what refers to them from other tables is not touched. */
  readonly #isByKey: boolean;
  readonly #sameKey: string;

  constructor(
    session: Session,
    staging: StagingTable,
    traits: TableTraits,
    { mode, maxRemoved }: { readonly mode: TableMode; readonly maxRemoved: MaxRemoved | undefined },
  ) {
    const { target } = staging;
    this.#session = session;
    this.#staging = staging;
    this.#target = target;
    this.#traits = traits;
    this.#mode = mode;
    this.#maxRemoved = maxRemoved;
    this.#isByKey = target.key.length > 0 && (mode === 'merge' || mode === 'replace');
    this.#sameKey = target.sameKey(target.sql, staged);
  }

  /**
   * In mode `replace`, removes the rows that the walk did not find, unless it was incomplete.
   *
   * @param rows those that take the place of all others, without a key. Default 0
   */
  async #removeMissing(
    end: WalkEnd,
    before: number,
    rows = 0,
  ): Promise<{ readonly rowsNotRemoved: number; readonly removed: number }> {
    if (this.#mode !== 'replace') return { rowsNotRemoved: 0, removed: 0 };
    const rowsNotRemoved = end.isIncomplete ? await this.#countMissing(end) : 0;
    if (rowsNotRemoved > 0) return { rowsNotRemoved, removed: 0 };
    const removed = await this.#remove();
    const fewer = this.#isByKey ? removed : Math.max(removed - rows, 0);
    checkRemoval(this.#target.name, this.#maxRemoved, { removed: fewer, before });
    return { rowsNotRemoved, removed };
  }

  /** @param rows those that are staged, without others of their keys */
  async updateThenInsert(rows: number, end: WalkEnd): Promise<Published> {
    const { hasRules } = this.#traits;
    const rowsBefore = hasRules || this.#mode !== 'append' ? await this.#count(this.#target.sql) : 0;
    const { rowsNotRemoved, removed } = await this.#removeMissing(end, rowsBefore, rows);
    const changed = this.#isByKey ? await this.#update() : 0;
    const before = hasRules && !this.#isByKey ? await this.#lookBefore() : undefined;
    const added = await this.#insert(rows);
    if (!hasRules && this.#isByKey) return { rowsNotRemoved, changes: { before: rowsBefore, removed, added, changed } };
    if (!hasRules && this.#mode !== 'replace') return { rowsNotRemoved };
    if (!hasRules) return { rowsNotRemoved, changes: { before: rowsBefore, removed: Math.max(rowsBefore - added, 0) } };
    const expected = rowsBefore - removed + added;
    const found = await this.#checkKept(expected);
    if (before) await this.#checkAdded(before, expected, added, found);
    else await this.#checkKeys();
    return { rowsNotRemoved };
  }

  /** Counts the rows of the target that the walk did not find. @throws SinkError if there are rows, and no key. */
  async #countMissing({ shortOfTotal, overTotal, repeatedRows, oldRowsSince }: WalkEnd): Promise<number> {
    if (this.#isByKey) return this.#count(this.#missing);
    const { sql, name } = this.#target;
    if (!(await hasRows(this.#session, sql))) return 0;
    if (oldRowsSince !== undefined)
      throw new SinkError(
        `The walk went on with rows that an interrupted run has read since ${oldRowsSince}, and what moved since may be in neither half, so no row of ${name.given} may be removed. Without key columns no row can be told from a new one, so nothing was changed.`,
        {
          details: { table: name.given, isLost: true },
          advice: [{ kind: 'set', option: 'key' }, { kind: 'restart' }],
        },
      );
    const gap = shortOfTotal ?? overTotal;
    const isByRows = gap !== undefined || repeatedRows !== undefined;
    const explain = (option: string): string => {
      if (gap) return `the API's total of rows is ${gap.total}, but it listed ${gap.listed}`;
      if (isByRows) return `the API listed ${repeatedRows} rows again, maybe in place of others, and states no total`;
      return `a part was skipped, the API reported errors, or the limit in ${option} was reached`;
    };
    throw new SinkError(
      (option = 'maxRows') =>
        `The walk was incomplete, so no row of ${name.given} may be removed: ${explain(option)}. Without key columns no row can be told from a new one, so nothing was changed.`,
      {
        details: { table: name.given, isLost: true, ...(!isByRows && { option: 'maxRows' }) },
        advice: [
          { kind: 'set', option: 'key' },
          ...(isByRows ? [{ kind: 'allow', option: 'requireTotal' } as const] : []),
        ],
      },
    );
  }

  async #remove(): Promise<number> {
    const { hasRules, isReferenced } = this.#traits;
    const gone = this.#isByKey ? this.#missing : this.#target.sql;
    const expected = hasRules ? await this.#count(gone) : undefined;
    const stay = this.#isByKey && isReferenced ? await this.#count(this.#staying) : 0;
    const found = await this.#session.run(`DELETE FROM ${gone}`);
    this.#target.checkCount('removed', expected, found);
    if (stay > 0) this.#target.checkStay(stay, await this.#count(this.#staying));
    return found;
  }

  async #update(): Promise<number> {
    const { columns, key, sql } = this.#target;
    const values = columns.filter(({ name }) => !key.includes(name));
    if (values.length === 0) return 0;
    const set = values.map(({ name }) => `${quote(name)} = ${staged}.${quote(name)}`).join(', ');
    // JSON has no equality in every database; its text has.
    const listValues = (of: string): string =>
      values
        .map(({ name, type }) => (type === 'json' ? `CAST(${of}.${quote(name)} AS text)` : `${of}.${quote(name)}`))
        .join(', ');
    // Rows that are as they were are not touched: nor are their triggers, and readers' caches.
    const differ = `${this.#sameKey} AND (${listValues(sql)}) IS DISTINCT FROM (${listValues(staged)})`;
    for (const unique of this.#target.listUniques(this.#traits)) await this.#vacateTaken(unique);
    const expected = this.#traits.hasRules
      ? await this.#count(`${sql}, ${this.#staging.sql} AS ${staged} WHERE ${differ}`)
      : undefined;
    const found = await this.#session.run(
      `UPDATE ${sql} SET ${set} FROM ${this.#staging.sql} AS ${staged} WHERE ${differ}`,
    );
    this.#target.checkCount('changed', expected, found);
    return found;
  }

  /** Rows that stay may swap values of which no two may be the same. */
  async #vacateTaken(unique: Unique): Promise<void> {
    const { key, sql } = this.#target;
    const values = unique.columns.filter((name) => !key.includes(name));
    if (values.length === 0 || unique.isDeferred) return;
    const all = unique.columns.map(quote);
    const isTaken = `(${all.map((name) => `${sql}.${name}`).join(', ')}) IN (SELECT ${all.join(', ')} FROM ${this.#staging.sql})`;
    const changes = values.map((name) => `${sql}.${quote(name)} IS DISTINCT FROM ${staged}.${quote(name)}`);
    const keys = key.map((name) => `${staged}.${quote(name)}`).join(', ');
    const taken = `SELECT ${keys}, row_number() OVER () AS ${nth} FROM ${sql}, ${this.#staging.sql} AS ${staged} WHERE ${this.#sameKey} AND (${changes.join(' OR ')}) AND ${isTaken}`;
    const found = await this.#session.rows(`${taken} LIMIT 3`);
    // A column may take no value in between, so none is made where no row needs it.
    if (found.length === 0) return;
    const swapping = {
      unique,
      count: await this.#count(`(${taken}) AS ${staged}`),
      rows: found.map((row) => key.map((name) => String(row[name]))),
      valuesToBe: (column: string) => readExtremes(this.#session, this.#staging.sql, column),
    };
    await vacateRows(this.#session, this.#target, swapping, (assignmentOf) =>
      this.#session.run(
        `UPDATE ${sql} SET ${assignmentOf(`${staged}.${nth}`)} FROM (${taken}) AS ${staged} WHERE ${this.#sameKey}`,
      ),
    );
  }

  async #lookBefore(): Promise<Before> {
    if (this.#traits.keepsRows) return { hasEqual: false };
    return {
      hasEqual: (await this.#count(`${this.#target.sql} WHERE ${this.#isStaged}`)) > 0,
      changes: await this.#session.readChanges?.(this.#target.name.full),
    };
  }

  /** By key, adds the rows whose key the target lacks; otherwise all. */
  async #insert(rows: number): Promise<number> {
    const { columns, sql } = this.#target;
    const names = columns.map(({ name }) => quote(name));
    const values = names.map((name) => `${staged}.${name}`).join(', ');
    const source = `${this.#staging.sql} AS ${staged}${this.#isByKey ? this.#withoutTarget : ''}`;
    const missing = this.#isByKey && this.#traits.hasRules ? await this.#count(source) : undefined;
    const found = await this.#session.run(
      `INSERT INTO ${sql} (${names.join(', ')}) SELECT ${values} FROM ${source} ORDER BY ${staged}.${this.#staging.order}`,
    );
    this.#target.checkCount('added', this.#isByKey ? missing : rows, found);
    return found;
  }

  /** Triggers, and others meanwhile, may add rows to those that are there, and remove such as were there before. */
  async #checkKept(expected: number): Promise<number> {
    await this.#target.fireDeferred(this.#session);
    const found = await this.#count(this.#target.sql);
    if (found > expected ? this.#mode === 'replace' : found < expected && this.#traits.isAdded === undefined)
      this.#target.checkCount('kept', expected, found);
    return found;
  }

  /** A trigger may remove what was added, a rule put it elsewhere, a conflict clause replace other rows by it. */
  async #checkKeys(): Promise<void> {
    const lost = await this.#count(`${this.#staging.sql} AS ${staged}${this.#withoutTarget}`);
    const expected = await this.#staging.countRows(this.#session);
    this.#target.checkCount('kept', expected, expected - lost);
  }

  /** Any of three is enough, since a trigger may change the values of new rows, and add, change and remove others. */
  async #checkAdded(before: Before, expected: number, added: number, found: number): Promise<void> {
    const { kind, keepsRows = false, isAdded = 'TRUE' } = this.#traits;
    const changes = before.changes && (await this.#session.readChanges?.(this.#target.name.full));
    const since = (of: keyof Changes): number => (changes?.[of] ?? 0) - (before.changes?.[of] ?? 0);
    // A database that does not count gives fewer than were added. A view may hide a row, and show another.
    const isCounted = kind === 'table' ? since('added') >= added : since('added') === added;
    if (found >= expected && (keepsRows || (isCounted && since('removed') === 0))) return;
    // Old rows with the same values would stand for new ones.
    const lost = await this.#countLost(before.hasEqual ? isAdded : 'TRUE');
    if (lost === 0) return;
    const areAllOurs = this.#traits.isAdded !== undefined && since('added') === added && since('changed') === 0;
    if (areAllOurs && (await this.#count(`${this.#target.sql} WHERE ${isAdded}`)) >= added) return;
    if (found < expected) this.#target.checkCount('kept', expected, found);
    this.#target.checkCount('kept', added, added - lost);
  }

  /** How many staged rows have no row of the target with the same values, of those that a condition holds for. */
  async #countLost(condition: string): Promise<number> {
    const { sql } = this.#target;
    const all = `SELECT ${this.#textOf(this.#staging.sql)} AS ${each}, 1 AS ${nth} FROM ${this.#staging.sql} UNION ALL SELECT ${this.#textOf(sql)}, -1 FROM ${sql} WHERE ${condition} AND ${this.#isStaged}`;
    const [found] = await this.#session.rows(
      `SELECT coalesce(sum(${staged}), 0) AS _sluice_rows FROM (SELECT sum(${nth}) AS ${staged} FROM (${all}) AS ${each} GROUP BY ${each} HAVING sum(${nth}) > 0) AS ${staged}`,
    );
    return readNumber(found?.['_sluice_rows']);
  }

  /** The rows of the target that have the values of a staged one. */
  get #isStaged(): string {
    return `${this.#textOf(this.#target.sql)} IN (SELECT ${this.#textOf(this.#staging.sql)} FROM ${this.#staging.sql})`;
  }

  /** One text for all values of a row, since databases find one quickly, and not all types and nulls have an equality. */
  #textOf(table: string): string {
    const { columns, database } = this.#target;
    const texts = columns.map(({ name }) => `CAST(${table}.${quote(name)} AS text)`);
    const marked = texts.map((text) => `coalesce(CAST(length(${text}) AS text) || ':' || ${text}, '-')`);
    return `(${marked.join(' || ')}) COLLATE ${database.exactCollation}`;
  }

  /** The rows of the target whose key no new row has. */
  get #missing(): string {
    const { sql } = this.#target;
    return `${sql} WHERE NOT EXISTS (SELECT 1 FROM ${this.#staging.sql} AS ${staged} WHERE ${this.#sameKey})`;
  }

  /** The rows of the target whose key a new row has. */
  get #staying(): string {
    return `${this.#target.sql} WHERE EXISTS (SELECT 1 FROM ${this.#staging.sql} AS ${staged} WHERE ${this.#sameKey})`;
  }

  /** A join, since for it a database without an index of the key makes one. */
  get #withoutTarget(): string {
    const [first = ''] = this.#target.key;
    return ` LEFT JOIN ${this.#target.sql} ON ${this.#sameKey} WHERE ${this.#target.sql}.${quote(first)} IS NULL`;
  }

  #count(from: string): Promise<number> {
    return countRows(this.#session, from);
  }
}
