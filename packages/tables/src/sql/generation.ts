import { ConfigError, type Change } from '@sluice/core';
import type { WatchedWalk } from '@sluice/core/kit';
import type { SqlValue, TableColumn, Unique } from './database.js';
import { keyColumn, storableKey, type TableColumns, type TableShape } from './tableShape.js';

export const deletedColumn: TableColumn = { name: '_deleted_at', type: 'timestamp' };
/** Those of a version: from when and until when the row was so, how that ended, and the generation that wrote it. */
export const versionColumns = {
  from: { name: '_valid_from', type: 'timestamp' },
  to: { name: '_valid_to', type: 'timestamp' },
  ended: { name: '_ended', type: 'text' },
  generation: { name: '_generation', type: 'generation' },
} as const satisfies Readonly<Record<string, TableColumn>>;

/** What a mirror has of each row: what it is now; that also if it was removed; or each version that it had. */
export type Kept = 'present' | 'removed' | 'versions';

/** The columns of a mirror's own by what it keeps, and which of them is null in rows that are there now. */
const ownColumns: Readonly<Record<Kept, { readonly columns: readonly TableColumn[]; readonly live?: TableColumn }>> = {
  present: { columns: [] },
  removed: { columns: [deletedColumn], live: deletedColumn },
  versions: { columns: Object.values(versionColumns), live: versionColumns.to },
};

export type Values = readonly SqlValue[];

/** A row of the table, and its key in the watch. */
interface Keyed {
  readonly key: string;
  readonly values: Values;
}

/** A row that is changed in place. */
export interface ChangedRow extends Keyed {
  readonly before: Values;
}

/** A row that the watch has no more, since a time. */
export interface RemovedRow extends Keyed {
  readonly at: string;
}

/** What one generation changes. */
export interface Generation {
  readonly isFirst: boolean;
  readonly removed: readonly RemovedRow[];
  readonly changed: readonly ChangedRow[];
  readonly added: readonly Keyed[];
  /** Rows that the last walk lacked, and that the watch still has. */
  readonly missing: readonly Keyed[];
}

/** A walk of the watch, and what it changed; a mirror without a history is not told of the others. */
export interface ComparedWalk {
  readonly walk: WatchedWalk;
  readonly changes?: Generation;
}

/**
 * Rows that the watch still has, though the last walks lacked them, and whose place another row has taken: the table can't
 * have both. By their keys in the watch.
 */
export type Displaced = ReadonlyMap<string, Values>;

/**
 * The columns of a mirror, those of the rows and then its own, and how changes become its rows. Those of versions get
 * their values with the generation that writes them.
 */
export class MirrorShape<T> implements TableColumns {
  readonly columns: readonly TableColumn[];
  readonly key: readonly string[];
  readonly mayLack: TableColumns['mayLack'];
  readonly kept: Kept;
  /** The column that is null in rows that are there now, if others stay, too. */
  readonly live: TableColumn | undefined;
  /** Whether a difference in that column makes a version. */
  readonly compares: (column: string) => boolean;
  readonly #rows: TableShape<T>;
  readonly #hasKeyColumn: boolean;

  /** @throws ConfigError if a column of the rows has the name of one of its own. */
  constructor(rows: TableShape<T>, kept: Kept, compares: (column: string) => boolean = () => true) {
    this.compares = compares;
    this.#rows = rows;
    this.#hasKeyColumn = rows.key.length === 0;
    this.kept = kept;
    this.live = ownColumns[kept].live;
    const own = [
      ...(this.#hasKeyColumn ? [{ name: keyColumn, type: 'text' } as const] : []),
      ...ownColumns[kept].columns,
    ];
    const clash = own.find(({ name }) => rows.columns.some((column) => column.name.toLowerCase() === name));
    if (clash)
      throw new ConfigError(
        `The rows have a column ${clash.name}, which is the ${kept === 'versions' ? "history's" : "mirror's"} own. Leave it out of columns.`,
      );
    this.columns = [...rows.columns, ...own];
    this.key = this.#hasKeyColumn ? [keyColumn] : rows.key;
    this.mayLack = rows.mayLack;
  }

  /** The changes of a generation, as what they do to the table. */
  readGeneration(changes: readonly Change<T>[], unconfirmed: readonly Change<T>[], isFirst: boolean): Generation {
    const removed: RemovedRow[] = [];
    const changed: ChangedRow[] = [];
    const added: Keyed[] = [];
    for (const [at, change] of changes.entries()) {
      const { key, observedAt } = change;
      const values = this.#readChange(change, at);
      if (change.type === 'removed') removed.push({ key, values, at: observedAt });
      else if (change.type !== 'changed') added.push({ key, values });
      else changed.push({ key, values, before: this.#readRow(change.before, key, at) });
    }
    const missing = unconfirmed.map((change, at) => ({ key: change.key, values: this.#readChange(change, at) }));
    return { isFirst, removed, changed, added, missing };
  }

  #readChange(change: Change<T>, at: number): Values {
    return this.#readRow(change.type === 'removed' ? change.before : change.after, change.key, at);
  }

  #readRow(row: T, key: string, at: number): Values {
    const values = this.#rows.readValues(row, at + 1);
    if (this.#hasKeyColumn) values.push(storableKey(key, '#"'));
    if (this.kept === 'removed') values.push(null);
    return values;
  }

  /** The values of the key, in the order of the columns. */
  keyOf(values: Values): Values {
    return values.filter((_, nth) => this.key.includes(this.columns[nth]?.name ?? ''));
  }

  /** The values that may change while the key stays. */
  othersOf(values: Values): Values {
    return values.filter((_, nth) => !this.key.includes(this.columns[nth]?.name ?? ''));
  }

  /** The values of which a difference makes a version. */
  comparedOf(values: Values): Values {
    return values.filter((_, nth) => this.compares(this.columns[nth]?.name ?? ''));
  }

  /** The values of some columns as a text that is the same for those that a database may take for equal; none for nulls. */
  looseText(columns: readonly string[], values: Values): string | undefined {
    const found = columns.map((name) => values[this.columns.findIndex((column) => column.name === name)] ?? null);
    if (found.includes(null)) return undefined;
    const texts = found.map((value) => String(value).normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase().trimEnd());
    return JSON.stringify(texts);
  }
}

/** What a generation does to the table, with the displaced rows before and after it. */
export interface TableChanges {
  /** Rows that are there, and keep their keys. */
  readonly stayed: readonly ChangedRow[];
  /** Rows that take the place of one that leaves, with its key. */
  readonly inPlace: readonly Values[];
  /** Rows that are added. */
  readonly arrived: readonly Values[];
  /** The keys of rows that leave the table. */
  readonly left: readonly Values[];
  /** Rows that the watch has no more. They stay if they are to be marked. */
  readonly gone: readonly RemovedRow[];
  readonly displaced: Displaced;
}

/** The rows of the first generation, without those that are missing and whose place another row has taken. */
export function planSnapshot<T>(
  shape: MirrorShape<T>,
  { added, missing }: Generation,
  uniques: readonly Unique[],
): { readonly rows: readonly Values[]; readonly displaced: Displaced } {
  const lacked = new Set(missing.map(({ key }) => key));
  const displaced = new Map<string, Values>();
  const here = added.filter(({ key }) => !lacked.has(key));
  for (const row of missing) {
    if (findTaken(shape, [row], uniques, here).length > 0) displaced.set(row.key, row.values);
    else here.push(row);
  }
  return { rows: added.filter(({ key }) => !displaced.has(key)).map(({ values }) => values), displaced };
}

/** @param uniques columns of which no two rows may have the same values: first the key, then others that the table has */
export function planChanges<T>(
  shape: MirrorShape<T>,
  { removed, changed, added, missing }: Generation,
  uniques: readonly Unique[],
  before: Displaced,
): TableChanges {
  const displaced = new Map(before);
  const gone = removed.filter(({ key }) => !displaced.delete(key));
  const stayed: ChangedRow[] = [];
  const arrived = added.map(({ values }) => values);
  /** The keys that rows give up, by their text. Whoever takes one is changed in place, and so is not inserted. */
  const left = new Map<string, Values>();
  const leave = (values: Values): unknown => left.set(encodeValues(shape.keyOf(values)), shape.keyOf(values));
  for (const change of changed) {
    const isHere = !displaced.delete(change.key);
    if (isHere && encodeValues(shape.keyOf(change.values)) === encodeValues(shape.keyOf(change.before)))
      stayed.push(change);
    else {
      arrived.push(change.values);
      if (isHere) leave(change.before);
    }
  }
  const lacked = new Set(missing.map(({ key }) => key));
  for (const [key, values] of before) if (displaced.has(key) && !lacked.has(key)) arrived.push(values);
  for (const key of before.keys()) if (!lacked.has(key)) displaced.delete(key);
  const here = [...stayed, ...arrived.map((values) => ({ values }))];
  for (const { key, values } of findTaken(shape, missing, uniques, here)) {
    if (displaced.has(key)) continue;
    displaced.set(key, values);
    leave(values);
  }
  if (!shape.live) for (const { values } of gone) leave(values);
  // Another unique column could still have the value of the row that leaves.
  const inPlace = arrived.filter((values) => uniques.length === 1 && left.delete(encodeValues(shape.keyOf(values))));
  return {
    stayed,
    inPlace,
    arrived: arrived.filter((values) => !inPlace.includes(values)),
    left: [...left.values()],
    gone,
    displaced,
  };
}

/** Rows whose values others have now, in columns of which no two may have the same. */
function findTaken<T, R extends { readonly values: Values }>(
  shape: MirrorShape<T>,
  rows: readonly R[],
  uniques: readonly Unique[],
  by: readonly { readonly values: Values }[],
): readonly R[] {
  if (rows.length === 0) return [];
  // Where removed rows stay, what only some rows must not share is what those that are there must not.
  const certain = uniques.filter(({ isPartial }) => !isPartial || shape.live);
  return certain.flatMap(({ columns }) => {
    const texts = new Set(by.map(({ values }) => shape.looseText(columns, values)));
    return rows.filter(({ values }) => {
      const text = shape.looseText(columns, values);
      return text !== undefined && texts.has(text);
    });
  });
}

/** Rows that stay and have a value that another one of them gets, in columns of which no two may have the same. */
export function findSwapped<T>(
  shape: MirrorShape<T>,
  stayed: readonly ChangedRow[],
  { columns }: Unique,
): readonly ChangedRow[] {
  const owners = new Map(stayed.map((change) => [shape.looseText(columns, change.before), change]));
  return stayed.flatMap((change) => {
    const owner = owners.get(shape.looseText(columns, change.values) ?? '');
    return owner && owner !== change ? [owner] : [];
  });
}

/** The same text for the same values. */
export function encodeValues(values: Values): string {
  return JSON.stringify(values.map(encodeValue));
}

/** Only a boolean is a number in a table. */
export function encodeValue(value: SqlValue): string | number | null {
  return typeof value === 'bigint' ? Number(value) : value;
}
