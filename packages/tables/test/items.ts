import { createSource, type ColumnType, type RowSchema, type Source } from '@sluice/core';

/** A row of these tests. */
export interface Item {
  readonly id: number;
  readonly name: string;
  readonly amount: string;
}

export const itemSchema: RowSchema<Item> = {
  columns: ['id', 'name', 'amount'],
  types: { id: 'integer', amount: 'integer' } satisfies Record<string, ColumnType>,
  key: ({ id }) => id,
};

/** Rows with these ids, of amounts that a number can't hold. */
export function itemsOf(ids: Iterable<number>, name = 'item'): Item[] {
  return Array.from(ids, (id) => ({ id, name: `${name} ${id}`, amount: `9007199254740993${id}` }));
}

export interface ItemsOptions {
  readonly pageSize?: number;
  /** Called before each page is given. */
  readonly onPage?: (partition: number, page: number) => void | Promise<void>;
}

/** A listing that changes. */
export function changingSource(rows: () => readonly Item[], onPage?: ItemsOptions['onPage']): Source<Item> {
  return createSource<Item>({
    name: 'items',
    identity: null,
    schema: itemSchema,
    async fetch() {
      await onPage?.(0, 0);
      return { rows: rows(), next: 'end' };
    },
  });
}

/** A source of partitions, each with its rows. */
export function itemSource<Row extends object = Item>(
  partitions: readonly (readonly Row[])[],
  { pageSize = 3, onPage }: ItemsOptions = {},
  schema: RowSchema<Row> = itemSchema as unknown as RowSchema<Row>,
): Source<Row> {
  return createSource<Row>({
    name: 'items',
    identity: { partitions: partitions.length },
    schema,
    partitions: partitions.length,
    async fetch({ partition, at }) {
      const page = at && 'cursor' in at ? Number(at.cursor) : 0;
      await onPage?.(partition, page);
      const all = partitions[partition] ?? [];
      const rows = all.slice(page * pageSize, (page + 1) * pageSize);
      return { rows, next: (page + 1) * pageSize < all.length ? { cursor: String(page + 1) } : 'end' };
    },
  });
}
