import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { map, type Observable } from 'rxjs';
import { describe, expect, test } from 'vitest';
import { exportTo, type ExportOptions } from '../../src/index.js';
import { byCursor, listing } from '../../src/define/index.js';
import { fileSink, fileState } from '../../src/node/index.js';
import { temporaryFolder } from '../../../../test/kit/temporaryFolder.js';
import { openListing, serve, type Said } from '../define/servedApi.js';
import { textFormat, textOf } from './textRows.js';

const pages = 5;
const parts = ['a', 'b', 'c', 'd'];

/**
 * A server whose scroll gives each page once, as those of search engines do: a request moves it on, whether its
 * response arrives or not.
 */
async function serveScroll(meddle: (nth: number) => Said | 'cut' | undefined) {
  const scrolls = new Map<string, { readonly part: string; page: number }>();
  return serve((_url, nth, { body }) => {
    const { part, scroll } = body as { part: string; scroll?: string };
    const id = scroll ?? `scroll-${scrolls.size}-${part}`;
    const at = scrolls.get(id) ?? { part, page: 0 };
    scrolls.set(id, at);
    if (at.page >= pages) return { status: 404 };
    const rows = [0, 1].map((row) => ({ text: `${at.part}.${at.page}.${row}` }));
    at.page += 1;
    return meddle(nth) ?? { body: { rows, ...(at.page < pages && { scroll: id }) } };
  });
}

const all = textOf(
  parts.map((part) => Array.from({ length: 2 * pages }, (_, n) => `${part}.${Math.floor(n / 2)}.${n % 2}`)),
);

async function exportScroll(
  server: { readonly baseUrl: string },
  path: string,
  options: ExportOptions = { state: fileState(`${path}.sluice`) },
) {
  const scroll = listing({
    method: 'POST',
    path: '/search',
    rows: 'rows',
    columns: ['text'],
    isRepeatable: false,
    partitions: () => parts.map((part) => ({ part })),
    body: { part: '{part}' },
    paging: byCursor({ into: 'scroll', at: 'scroll?' }),
    decode: (row: unknown) => row as { text: string },
    version: '1',
  });
  const source = openListing(scroll, { ...server, retry: { baseDelay: 1 } })();
  const texts = source.pipePages(textsOf, { version: '1' });
  return exportTo(texts, fileSink(textFormat, { path }), { commitEvery: 1, ...options }).run();
}

const textsOf = (rows: Observable<{ text: string }>) => rows.pipe(map(({ text }) => text));

describe('A3 a listing whose pages are sent only once', () => {
  test.each([
    [1, 'cut'],
    [3, 'cut'],
    [1, 503],
    [3, 503],
  ] as const)(
    'with concurrency %i, starts a partition over whose page is lost (%s): no row is missing',
    { tags: ['slow'] },
    async (concurrency, how) => {
      const lost = new Set([3, 9, 12]);
      const server = await serveScroll((nth) => {
        if (!lost.has(nth)) return undefined;
        return how === 'cut' ? 'cut' : { status: how };
      });
      const path = join(temporaryFolder(), 'rows.txt');
      const warnings: string[] = [];
      const state = fileState(`${path}.sluice`);
      const report = await exportScroll(server, path, { state, concurrency, onWarning: (text) => warnings.push(text) });
      expect(readFileSync(path, 'utf8')).toBe(all);
      expect(report.rows).toBe(2 * pages * parts.length);
      expect(warnings[0]).toMatch(
        /the API sends each page only once\. Its \d+ rows are removed, and the partition starts/,
      );
    },
  );

  test('retries the first page, because a partition begins again with it', { tags: ['slow'] }, async () => {
    const server = await serveScroll((nth) => (nth === 1 ? { status: 503 } : undefined));
    const path = join(temporaryFolder(), 'rows.txt');
    await exportScroll(server, path);
    expect(readFileSync(path, 'utf8')).toBe(all);
    expect(server.requests).toHaveLength(parts.length * pages + 1);
  });

  test(
    'starts an unfinished partition over when an export resumes, and keeps the finished ones',
    { tags: ['slow'] },
    async () => {
      const path = join(temporaryFolder(), 'rows.txt');
      // A refused key is final. The export ends inside of the second partition.
      const server = await serveScroll((nth) => (nth === pages + 3 ? { status: 403 } : undefined));
      await expect(exportScroll(server, path)).rejects.toMatchObject({ code: 'http' });
      const before = server.requests.length;
      const report = await exportScroll(server, path);
      expect(readFileSync(path, 'utf8')).toBe(all);
      expect(report.rows).toBe(2 * pages * parts.length);
      expect(server.requests.length - before).toBe((parts.length - 1) * pages);
    },
  );

  test('fails where rows cannot be removed, or where the export is told to', async () => {
    const server = await serveScroll((nth) => (nth === 3 ? 'cut' : undefined));
    const path = join(temporaryFolder(), 'rows.txt');
    const failing = exportScroll(server, path, { state: fileState(`${path}.sluice`), onExpired: 'fail' });
    await expect(failing).rejects.toMatchObject({
      code: 'cursor-refused',
      message: expect.stringContaining(
        "can't continue after a failed request at page 3: the API sends each page only once",
      ),
      cause: { code: 'network', message: expect.stringContaining('It was not sent again') },
    });
  });
});
