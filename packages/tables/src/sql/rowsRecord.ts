import { checkRow, isRecord } from '@sluice/core/kit';
import type { TableColumn } from './database.js';

/** The name of the record of a history's rows. */
export const rowsRecord = 'rows';

/** What the values of a column are in JSON. */
export type JsonKind = 'text' | 'number' | 'boolean' | 'json';

/** What a history records of its rows, since its table does not tell it. */
export interface RowsRecord {
  /** The name of their source. */
  readonly source: string;
  /** By column, as far as it has had values. Those of several kinds are text: what the table has may be any of them. */
  readonly kinds: Readonly<Record<string, JsonKind>>;
  /** The columns that the watch does not compare. */
  readonly ignored: readonly string[];
  /** A text in the column `_key` that begins so is a key in JSON. */
  readonly reserved: '#' | '#"';
}

interface RowsToSee extends Pick<RowsRecord, 'source' | 'reserved'> {
  readonly columns: readonly TableColumn[];
  /** Whether a column is compared. Default: all are. */
  readonly compares?: ((column: string) => boolean) | undefined;
  /** What was recorded before. */
  readonly before: unknown;
}

/** Learns from rows what is to be recorded of them. */
export class RowsSeen {
  readonly #rows: RowsToSee;
  readonly #kinds: ReadonlyMap<string, Set<JsonKind>>;

  constructor(rows: RowsToSee) {
    this.#rows = rows;
    const { columns, before } = rows;
    this.#kinds = new Map(columns.map(({ name }) => [name, new Set()]));
    // The versions of earlier runs stay.
    if (isRowsRecord(before)) for (const [name, kind] of Object.entries(before.kinds)) this.#kinds.get(name)?.add(kind);
  }

  add(row: unknown): void {
    const fields = checkRow(row, 'a table');
    for (const [name, seen] of this.#kinds) {
      const kind = Object.hasOwn(fields, name) ? kindOf(fields[name]) : undefined;
      if (kind) seen.add(kind);
    }
  }

  toRecord(): RowsRecord {
    const { source, columns, reserved, compares = () => true } = this.#rows;
    const kinds = columns.flatMap(({ name, type }) => {
      const [kind, ...others] = this.#kinds.get(name) ?? [];
      if (type === 'json' || type === 'boolean') return [[name, type] as const];
      if (!kind) return type === 'integer' || type === 'number' ? [[name, 'number'] as const] : [];
      return [[name, others.length > 0 ? 'text' : kind] as const];
    });
    return {
      // The changes of a watch are a source of their own.
      source: source.replace(/\.changes$/, ''),
      kinds: Object.fromEntries(kinds),
      ignored: columns.map(({ name }) => name).filter((name) => !compares(name)),
      reserved,
    };
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
  return isRecord(record) && ['source', 'kinds', 'ignored', 'reserved'].every((name) => name in record);
}
