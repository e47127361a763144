import { describe, expect, test } from 'vitest';
import { byCursor, type ClientOptions, type Link, listing, type Page } from '../../src/index.js';
import { openListing, serve } from './servedApi.js';

interface Item {
  readonly id: number;
  readonly text: string;
}

const pageRows = 100;
/** Longer than what is parsed before anything else. */
const text = 'x'.repeat(500);

const definition = {
  path: '/items',
  pageSize: { param: 'limit', default: pageRows },
  paging: byCursor({ param: 'cursor', at: 'next?', more: 'more' }),
  rows: 'items',
  columns: ['id', 'text'],
} as const;
const items = listing<Item>(definition);

/** The nth page of several, as text. */
function pageText(nth: number, pages: number): string {
  const rows = Array.from({ length: pageRows }, (_, row) => ({ id: nth * pageRows + row, text }));
  const isLast = nth === pages - 1;
  // The API gives a cursor on the last page, too.
  return JSON.stringify({ items: rows, next: String(nth + 1), more: !isLast });
}

/** An API of so many pages; `spoil` makes something else of one. */
async function api(pages: number, spoil: (text: string, nth: number, count: number) => string = (page) => page) {
  const { baseUrl, asked } = await serve((url, count) => {
    const nth = Number(url.searchParams.get('cursor') ?? 0);
    return { text: spoil(pageText(nth, pages), nth, count) };
  });
  const cursors = (): string[] => asked.map((path) => /cursor=(\w+)/.exec(path)?.[1] ?? '');
  return { baseUrl, cursors };
}

function sourceOf(baseUrl: string, options: Pick<ClientOptions, 'retry' | 'links'> & { apiKey?: string } = {}) {
  return openListing(items, { baseUrl, ...options })();
}

/** Not valid, although its ends are. */
function broken(page: string): string {
  return page.replace('"text":', '"text";');
}

async function idsOf(pages: AsyncIterable<Page<Item>>): Promise<number[]> {
  const ids: number[] = [];
  for await (const { items: rows } of pages) ids.push(...rows.map(({ id }) => id));
  return ids;
}

describe('a walk that pulls long pages', () => {
  test('requests the next page before it parses one', async () => {
    const { baseUrl, cursors } = await api(3, (page, _nth, count) => (count === 1 ? broken(page) : page));
    const source = sourceOf(baseUrl, { retry: { retries: 1, baseDelay: 1 } });
    expect(await idsOf(source.pages())).toHaveLength(300);
    expect(cursors()).toEqual(['', '1', '', '2']);
  });

  test('requests each page once, and none after the last one, though that has a cursor', async () => {
    const { baseUrl, cursors } = await api(5);
    expect(await idsOf(sourceOf(baseUrl).pages())).toEqual(Array.from({ length: 500 }, (_, id) => id));
    expect(cursors()).toEqual(['', '1', '2', '3', '4']);
  });

  test('keeps the next page when a damaged one is retried', async () => {
    const { baseUrl, cursors } = await api(3, (page, nth, count) => (nth === 1 && count === 2 ? broken(page) : page));
    const source = sourceOf(baseUrl, { retry: { retries: 1, baseDelay: 1 } });
    expect(await idsOf(source.pages())).toHaveLength(300);
    expect(cursors().toSorted()).toEqual(['', '1', '1', '2']);
  });

  test('P2 has no more pages under way than concurrency + prefetch', async () => {
    for (const prefetch of [0, 1, 3]) {
      const { baseUrl, cursors } = await api(12);
      let taken = 0;
      for await (const page of sourceOf(baseUrl).pages({ prefetch })) {
        taken += page.items.length / pageRows;
        // What is sent at once arrives within this time.
        await new Promise((resolve) => setImmediate(resolve));
        // The page in hand, those that are ready, and the ones that are requested.
        expect(cursors().length - (taken - 1)).toBeLessThanOrEqual(1 + prefetch);
      }
      expect(taken).toBe(12);
    }
  });

  test('P3 pushed, requests no page before the rows of the one before are emitted', async () => {
    const { baseUrl, cursors } = await api(3, (page, nth) => (nth === 0 ? broken(page) : page));
    await new Promise((resolve) => sourceOf(baseUrl).subscribe({ error: resolve }));
    expect(cursors()).toEqual(['']);
  });

  test('P4 refuses a repeated page, whatever was requested meanwhile', async () => {
    const { baseUrl, cursors } = await api(9, (page, nth) =>
      nth > 1 ? pageText(1, 9).replace('"next":"2"', `"next":"${nth + 1}"`) : page,
    );
    await expect(idsOf(sourceOf(baseUrl).pages())).rejects.toMatchObject({ code: 'no-progress' });
    expect(cursors()).toEqual(['', '1', '2', '3']);
  });

  test('follows the page as its links have changed it', async () => {
    const { baseUrl, cursors } = await api(4);
    const skipping: Link = (next) => async (request) => {
      const response = await next(request);
      const { body } = response;
      const isFirst = request.query['cursor'] === undefined;
      return isFirst ? { ...response, body: { ...(body as object), next: '2' } } : response;
    };
    const ids = await idsOf(sourceOf(baseUrl, { links: [skipping] }).pages());
    expect(ids).toEqual(Array.from({ length: 300 }, (_, at) => (at < pageRows ? at : at + pageRows)));
    // What was announced is requested, and not used.
    expect(cursors().toSorted()).toEqual(['', '1', '2', '3']);
  });

  test('requests no more pages early once one was not used', async () => {
    // Each response of the first page has a cursor of its own, as signed ones are.
    const { baseUrl, cursors } = await api(9, (page, nth, count) => {
      if (nth > 0) return page;
      return count === 1 ? broken(page) : page.replace('"next":"1"', '"next":"2"');
    });
    const source = sourceOf(baseUrl, { retry: { retries: 1, baseDelay: 1 } });
    expect(await idsOf(source.pages())).toHaveLength(800);
    expect(cursors().filter((cursor) => cursor === '2')).toHaveLength(1);
    expect(cursors()).toHaveLength(10);
  });

  test('retries a page whose ends are not JSON either', async () => {
    const { baseUrl } = await api(2, (page, _nth, count) =>
      count === 1 ? page.replace('"more":true', '"more":007') : page,
    );
    expect(await idsOf(sourceOf(baseUrl, { retry: { retries: 1, baseDelay: 1 } }).pages())).toHaveLength(200);
  });

  test('T2 never sends a cursor with the key in it', async () => {
    const apiKey = 'a-key-that-is-secret';
    const { baseUrl, cursors } = await api(3, (page) => page.replace('"next":"1"', `"next":"${apiKey}"`));
    const walk = idsOf(sourceOf(baseUrl, { apiKey }).pages());
    await expect(walk).rejects.toMatchObject({ code: 'secret-in-cursor' });
    expect(cursors()).toEqual(['']);
  });

  test.each([
    ['maxRows', { maxRows: 100 }],
    ['maxPages', { maxPages: 1 }],
  ])('requests nothing early with %s', async (_bound, bounds) => {
    const { baseUrl, cursors } = await api(3, (page, nth) => (nth === 0 ? broken(page) : page));
    const source = openListing(items, { baseUrl })(bounds);
    await expect(idsOf(source.pages())).rejects.toMatchObject({ code: 'decode' });
    expect(cursors()).toEqual(['']);
  });

  test('requests nothing early where each page is sent only once', async () => {
    const { baseUrl, cursors } = await api(3, (page, nth) => (nth === 0 ? broken(page) : page));
    const once = openListing(listing<Item>({ ...definition, isRepeatable: false }), { baseUrl })();
    await expect(idsOf(once.pages())).rejects.toMatchObject({ code: 'decode' });
    expect(cursors()).toEqual(['']);
  });

  test('P3 stops at once while a page is requested early', async () => {
    const { baseUrl, cursors } = await api(50);
    const pages = sourceOf(baseUrl).pages()[Symbol.asyncIterator]();
    await pages.next();
    await pages.return();
    // What was sent before has arrived by then.
    await fetch(`${baseUrl}/items?cursor=49`);
    expect(cursors()).not.toContain('2');
  });
});
