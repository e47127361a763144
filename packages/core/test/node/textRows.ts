import { createSource, type Source } from '../../src/index.js';
import type { RowFormat } from '../../src/kit.js';

/** Rows as plain lines below a header, so that each byte can be told by hand. */
export const textFormat: RowFormat<string> = {
  name: 'text',
  identity: 'text',
  encoder: () => ({
    header: 'rows\n',
    encode: (rows) => rows.map((row) => `${row}\n`).join(''),
    follows: (start) => (start.startsWith('rows\n') ? undefined : 'has other rows'),
  }),
};

/** A source of pages given as lists of rows. `onFetch` is told before each page. */
export function pagesOf(pages: readonly (readonly string[])[], onFetch?: (page: number) => void): Source<string> {
  return createSource<string>({
    name: 'test.rows',
    identity: null,
    schema: { columns: [] },
    fetch: ({ at }) => {
      const page = at && 'cursor' in at ? Number(at.cursor) : 0;
      onFetch?.(page);
      const next = page + 1 < pages.length ? { cursor: String(page + 1) } : ('end' as const);
      return Promise.resolve({ rows: pages[page] ?? [], next });
    },
  });
}

/** Ten pages of three rows each. */
export const tenPages: readonly (readonly string[])[] = Array.from({ length: 10 }, (_, page) =>
  Array.from({ length: 3 }, (_row, row) => `page ${String(page)}, row ${String(row)}`),
);

/** The file that {@link textFormat} makes of pages. */
export function textOf(pages: readonly (readonly string[])[]): string {
  return ['rows', ...pages.flat(), ''].join('\n');
}
