import { checkRow } from '../fields.js';
import type { TableColumn } from './database.js';

/** The name of the record of a history's rows. */
export const rowsRecord = 'rows';

/** What the values of a column are in JSON. */
export type JsonKind = 'text' | 'number' | 'boolean' | 'json';

/** What a history records of its rows, since its table does not tell it. */
export interface RowsRecord {
  /** The name of their source. */
  readonly source: string;
  /** A column whose values are of several kinds has none: what the table has may be any of them. */
  readonly kinds: Readonly<Record<string, JsonKind | undefined>>;
  /** The columns that the watch does not compare. */
  readonly ignored: readonly string[];
  /** A text in the column `_key` that begins so is a key in JSON. */
  readonly reserved: '#' | '#"';
}

/** Learns from rows what is to be recorded of them. */
export class RowsSeen {
  readonly #rows: Omit<RowsRecord, 'kinds'>;
  readonly #columns: readonly (TableColumn & { readonly seen: Set<JsonKind> })[];
  hasRows = false;

  /** @param compares whether a column is compared; default: all are */
  constructor(
    source: string,
    columns: readonly TableColumn[],
    reserved: RowsRecord['reserved'],
    compares: (column: string) => boolean = () => true,
  ) {
    const ignored = columns.map(({ name }) => name).filter((name) => !compares(name));
    // The changes of a watch are a source of their own.
    this.#rows = { source: source.replace(/\.changes$/, ''), ignored, reserved };
    this.#columns = columns.map((column) => ({ ...column, seen: new Set() }));
  }

  add(row: unknown): void {
    const fields = checkRow(row, 'a table');
    this.hasRows = true;
    for (const { name, seen } of this.#columns) {
      const kind = Object.hasOwn(fields, name) ? kindOf(fields[name]) : undefined;
      if (kind) seen.add(kind);
    }
  }

  toRecord(): RowsRecord {
    const kinds = this.#columns.map(({ name, type, seen: [kind, ...others] }) => {
      if (type === 'json' || type === 'boolean') return [name, type] as const;
      if (!kind && (type === 'integer' || type === 'number')) return [name, 'number'] as const;
      return [name, others.length > 0 ? undefined : kind] as const;
    });
    return { ...this.#rows, kinds: Object.fromEntries(kinds) };
  }
}

function kindOf(value: unknown): JsonKind | undefined {
  if (value === null || value === undefined) return undefined;
  if (typeof value === 'number') return 'number';
  if (typeof value === 'boolean') return 'boolean';
  return typeof value === 'object' && !(value instanceof Date) ? 'json' : 'text';
}

/** Whether something is recorded: the record is ours. */
export function isRowsRecord(record: unknown): record is RowsRecord {
  return (
    typeof record === 'object' &&
    record !== null &&
    'source' in record &&
    'kinds' in record &&
    'ignored' in record &&
    'reserved' in record
  );
}
