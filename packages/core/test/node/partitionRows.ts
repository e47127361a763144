import { createSource, type SourceDefinition, type Source } from '../../src/index.js';
import { textOf } from './textRows.js';

/** Told before each page is answered, part and page from 0; may wait, or throw to refuse it. */
export type OnFetch = (partition: number, page: number) => void | Promise<void>;

/** A source of parts, each given by the number of rows on each of its pages. */
export function partitionsOf(
  partitions: readonly (readonly number[])[],
  onFetch: OnFetch = () => undefined,
  more: Partial<SourceDefinition<string>> = {},
): Source<string> {
  return createSource<string>({
    name: 'test.parts',
    identity: { partitions },
    schema: { columns: [] },
    partitions: partitions.length,
    async fetch({ partition, at }) {
      const page = at && 'cursor' in at ? Number(at.cursor) : 0;
      await onFetch(partition, page);
      const pages = partitions[partition] ?? [];
      return {
        rows: rowsOf(partition, page, pages[page] ?? 0),
        next: page + 1 < pages.length ? { cursor: String(page + 1) } : 'end',
      };
    },
    ...more,
  });
}

/** The file that {@link textFormat} makes of them, in the plan's order. */
export function fileOf(partitions: readonly (readonly number[])[]): string {
  return textOf(partitions.flatMap((pages, partition) => pages.map((count, page) => rowsOf(partition, page, count))));
}

function rowsOf(partition: number, page: number, count: number): string[] {
  return Array.from(
    { length: count },
    (_, row) => `part ${String(partition)}, page ${String(page)}, row ${String(row)}`,
  );
}
