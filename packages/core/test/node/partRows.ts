import { createSource, type SourceDefinition, type Source } from '../../src/index.js';
import { textOf } from './textRows.js';

/** Told before each page is answered, part and page from 0; may wait, or throw to refuse it. */
export type OnFetch = (part: number, page: number) => void | Promise<void>;

/** A source of parts, each given by the number of rows on each of its pages. */
export function partsOf(
  parts: readonly (readonly number[])[],
  onFetch: OnFetch = () => undefined,
  more: Partial<SourceDefinition<string>> = {},
): Source<string> {
  return createSource<string>({
    name: 'test.parts',
    identity: { parts },
    schema: { columns: [] },
    parts: parts.length,
    async fetch({ part, at }) {
      const page = at && 'cursor' in at ? Number(at.cursor) : 0;
      await onFetch(part, page);
      const pages = parts[part] ?? [];
      return {
        rows: rowsOf(part, page, pages[page] ?? 0),
        next: page + 1 < pages.length ? { cursor: String(page + 1) } : 'end',
      };
    },
    ...more,
  });
}

/** The file that {@link textFormat} makes of them, in the plan's order. */
export function fileOf(parts: readonly (readonly number[])[]): string {
  return textOf(parts.flatMap((pages, part) => pages.map((count, page) => rowsOf(part, page, count))));
}

function rowsOf(part: number, page: number, count: number): string[] {
  return Array.from({ length: count }, (_, row) => `part ${String(part)}, page ${String(page)}, row ${String(row)}`);
}
