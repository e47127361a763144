import { describe, expect, test } from 'vitest';
import {
  createClient,
  exportTo,
  memoryState,
  type ExportOptions,
  type ExportReport,
  type Sink,
  type Source,
} from '../../../src/index.js';
import {
  byCursor,
  byOffset,
  byPage,
  bySince,
  defineApi,
  listing,
  rowOf,
  type Paging,
} from '../../../src/define/index.js';
import type { WalkEnd } from '../../../src/kit.js';
import { onTestEnd } from '../../../../../scripts/testScope.js';
import { openListing, serve } from '../../define/servedApi.js';
import { killedAtPage } from './killedAtPage.js';
import { recordingSink } from '../sink/recordingSink.js';

interface Row {
  readonly id: number;
}

const size = 5;
const parts = {
  pageSize: { param: 'limit', default: size, max: size },
  rows: 'items',
  total: 'total?',
  columns: ['id'],
} as const;
const pagings: Record<string, Paging> = {
  byOffset: byOffset({ param: 'offset' }),
  byPage: byPage({ param: 'page' }),
  byCursor: byCursor({ param: 'cursor', at: 'next' }),
};

/** A page of a listing of `count` rows, which says that there are `total`. */
function pageOf({ searchParams }: URL, count: number, total: number | undefined): object {
  const given = (name: string): number => Number(searchParams.get(name) ?? 0);
  const from = searchParams.has('page') ? (given('page') - 1) * size : given('offset') + given('cursor');
  const items = Array.from({ length: count }, (_, id) => ({ id })).slice(from, from + size);
  return { items, next: from + size < count ? String(from + size) : null, ...(total !== undefined && { total }) };
}

async function exported<T = Row>(
  source: Source<T>,
  options: ExportOptions = {},
): Promise<{ readonly report: ExportReport; readonly warnings: string[]; readonly rows: T[] }> {
  const warnings: string[] = [];
  const sink = recordingSink<T>();
  const report = await exportTo(source, sink, { ...options, onWarning: (message) => warnings.push(message) }).run();
  return { report, warnings, rows: sink.rows };
}

describe('R4 P10 an export compares the rows of a listing with the total that the API states', () => {
  test.each(Object.entries(pagings))('%s: a warning and the report have both numbers', async (_, paging) => {
    const { baseUrl } = await serve((url) => ({ body: pageOf(url, 10, 25) }));
    const source = openListing(listing<Row>({ ...parts, path: '/rows', paging }), { baseUrl });
    const { report, warnings } = await exported(source());
    expect(report).toMatchObject({ rows: 10, shortOfTotal: { total: 25, listed: 10 } });
    expect(warnings).toEqual([
      "test.items: the API's total of rows is 25, but it listed 10, so 15 may be missing. Does it list rows only up to a limit? Or does the total count something else?",
    ]);
    await expect(exported(source(), { requireTotal: true })).rejects.toMatchObject({ code: 'rows-missing' });
  });

  test.each<[string, (nth: number) => number | undefined]>([
    ['the same', () => 10],
    ['smaller at the end, since rows were removed meanwhile', (nth) => (nth === 1 ? 25 : 10)],
    ['smaller once, although the last one is larger', (nth) => (nth === 2 ? 9 : 25)],
    ['of a page, and not of the listing', () => size],
    ['not stated', () => undefined],
  ])('says nothing if the total is %s', async (_, total) => {
    const { baseUrl } = await serve((url, nth) => ({ body: pageOf(url, 10, total(nth)) }));
    const items = listing<Row>({ ...parts, path: '/rows', paging: pagings['byCursor']! });
    const { report, warnings } = await exported(openListing(items, { baseUrl })());
    expect([report.shortOfTotal, warnings]).toEqual([undefined, []]);
  });

  test('counts what was received, and not what a filter keeps', async () => {
    const { baseUrl } = await serve((url) => ({ body: pageOf(url, 10, 10) }));
    const items = listing<Row>({
      ...parts,
      path: '/rows',
      paging: pagings['byPage']!,
      version: '1',
      filter: ({ id }) => id % 2 === 0,
    });
    const { report, rows } = await exported(openListing(items, { baseUrl })(), { requireTotal: true });
    expect([rows.length, report.shortOfTotal]).toEqual([5, undefined]);
  });

  test.each([1, 2, 3])('after an interruption at page %i, too', async (pages) => {
    // Only the first page has a total.
    const { baseUrl } = await serve((url) => {
      const isFirst = !url.searchParams.has('cursor');
      return { body: pageOf(url, 15, isFirst ? 25 : undefined) };
    });
    const items = listing<Row>({ ...parts, path: '/rows', paging: pagings['byCursor']! });
    const source = openListing(items, { baseUrl })();
    const state = memoryState();
    const sink = recordingSink<Row>();
    expect(await killedAtPage(sink, pages, () => exportTo(source, sink, { state, commitEvery: 1 }).run())).toBe(true);
    const report = await exportTo(source, sink, { state, commitEvery: 1 }).run();
    expect(report).toMatchObject({ rows: 15, shortOfTotal: { total: 25, listed: 15 } });
  });

  test('for each partition by itself: more rows of one do not make up for another', async () => {
    const { baseUrl } = await serve((url) => {
      const group = url.searchParams.get('group');
      return { body: group === 'a' ? pageOf(url, 10, 25) : pageOf(url, 20, group === 'b' ? 5 : 30) };
    });
    const items = listing<Row>({
      ...parts,
      path: '/rows',
      paging: pagings['byPage']!,
      query: { group: '{group}' },
      partitions: { group: ['a', 'b', 'c'] },
    });
    const { report, warnings } = await exported(openListing(items, { baseUrl })(), { concurrency: 2 });
    expect(report.shortOfTotal).toEqual({ total: 55, listed: 30 });
    expect(warnings).toEqual([expect.stringContaining('total of rows is 55, but it listed 30 in 2 partitions')]);
  });

  test.each([
    ['', 'all'],
    [', also after an interruption', 2],
    [', also after a later one', 4],
  ] as const)('and names the partition if only one is short%s', async (_, pages) => {
    const { baseUrl } = await serve((url) => ({
      body: url.searchParams.get('group') === 'b' ? pageOf(url, 2, 4) : pageOf(url, 4, 4),
    }));
    const items = listing<Row>({
      ...parts,
      path: '/rows',
      paging: pagings['byPage']!,
      query: { group: '{group}' },
      partitions: { group: ['a', 'b', 'c'] },
    });
    const source = openListing(items, { baseUrl })();
    const options = { state: memoryState(), commitEvery: 1 };
    const sink = recordingSink<Row>();
    if (pages !== 'all')
      expect(await killedAtPage(sink, pages, () => exportTo(source, sink, options).run())).toBe(true);
    const warnings: string[] = [];
    const onWarning = (message: string): void => void warnings.push(message);
    expect(await exportTo(source, sink, { ...options, onWarning }).run()).toMatchObject({
      rows: 10,
      shortOfTotal: { total: 4, listed: 2 },
    });
    expect(warnings).toEqual([
      expect.stringContaining("test.items: the API's total of rows is 4, but it listed 2 (partition 2 of 3)"),
    ]);
  });

  test.each([
    ['maxRows', { maxRows: 7 }],
    ['maxRows beyond the rows', { maxRows: 70 }],
  ])('not with %s, which excludes requireTotal', async (_, bounds) => {
    const { baseUrl } = await serve((url) => ({ body: pageOf(url, 10, 25) }));
    const source = openListing(listing<Row>({ ...parts, path: '/rows', paging: pagings['byPage']! }), { baseUrl });
    const { report, warnings } = await exported(source(bounds));
    expect([report.shortOfTotal, warnings]).toEqual([undefined, []]);
    expect(() => exportTo(source(bounds), recordingSink<Row>(), { requireTotal: true })).toThrow(
      "requireTotal can't be met: test.items is exported up to maxRows",
    );
  });

  test('not for an increment, which has only new rows', async () => {
    const { baseUrl } = await serve(({ searchParams }) => {
      const since = Number(searchParams.get('since') ?? 0);
      return { body: { items: [{ id: 0 }, { id: 1 }].filter(({ id }) => id >= since), total: 2 } };
    });
    const paging = bySince({ param: 'since', field: 'id', type: 'integer', overlap: 1 });
    const source = openListing(listing<Row>({ ...parts, path: '/rows', paging }), { baseUrl })();
    const options = { state: memoryState(), incremental: true } as const;
    for (const rows of [2, 0]) {
      const { report, warnings } = await exported(source, options);
      expect([report.rows, report.shortOfTotal, warnings]).toEqual([rows, undefined, []]);
    }
    expect(() => exportTo(source, recordingSink<Row>(), { ...options, requireTotal: true })).toThrow('incrementally');
  });

  test('requireTotal needs a total, and a walk that lacks nothing by itself', async () => {
    const { baseUrl } = await serve((url) => ({ body: { ...pageOf(url, 10, undefined), query: url.search } }));
    const source = openListing(listing<Row>({ ...parts, path: '/rows', paging: pagings['byPage']! }), { baseUrl })();
    await expect(exported(source, { requireTotal: true })).rejects.toMatchObject({
      code: 'rows-missing',
      message: expect.stringContaining("can't be compared with a total, since the API states none") as string,
    });
    const partial = listing<Row>({
      ...parts,
      path: '/rows',
      paging: pagings['byPage']!,
      rows: 'items',
      total: () => 25,
      responses: () => ({ kind: 'partial', message: 'a part failed' }),
    });
    const incomplete = openListing(partial, { baseUrl })();
    expect((await exported(incomplete)).report).toMatchObject({ isIncomplete: true });
    expect((await exported(incomplete)).report.shortOfTotal).toBeUndefined();
    await expect(exported(incomplete, { requireTotal: true })).rejects.toThrow('since the API left out rows');
  });
});

describe('R4 a listing for each row of another one', () => {
  async function openEach(totals: {
    readonly parents: number;
    readonly children: number;
    readonly ofThird?: number;
    /** Its second page is, and then the first one, too. */
    readonly isThirdRefused?: boolean;
  }) {
    let isRefused = false;
    const { baseUrl } = await serve((url) => {
      const isThird = url.pathname.endsWith('/3');
      if (isThird && totals.isThirdRefused && url.searchParams.has('page')) isRefused = true;
      if (isThird && isRefused) return { status: 404, body: {} };
      const isParents = url.pathname === '/api/parents';
      const children = url.pathname.endsWith('/3') ? (totals.ofThird ?? totals.children) : totals.children;
      return { body: isParents ? pageOf(url, 7, totals.parents) : pageOf(url, 2, children) };
    });
    const api = defineApi({
      name: 'test',
      sources: {
        parents: listing<Row>({ ...parts, path: '/parents', paging: pagings['byPage']!, key: ({ id }) => id }),
        children: listing({
          each: rowOf({ source: 'parents', params: ({ id }: { id: number }) => ({ parent: id }) }),
          ...parts,
          paging: pagings['byPage']!,
          version: '1',
          path: '/children/{parent}',
          responses: { 404: 'skip' },
        }),
      },
    });
    const client = createClient({ apiKey: false, rateLimit: false }).use(api({ baseUrl }));
    const warnings: string[] = [];
    client.events.subscribe((event) => {
      if (event.type === 'warning') warnings.push(event.message);
    });
    onTestEnd(() => client.close());
    return { source: client.test.children(), warnings };
  }

  test('is compared with the total of each', async () => {
    const { source } = await openEach({ parents: 7, children: 3 });
    const { report, warnings } = await exported(source, { requireTotal: false });
    expect(report).toMatchObject({ rows: 14, shortOfTotal: { total: 21, listed: 14 } });
    expect(report.total).toBeUndefined();
    expect(warnings).toHaveLength(1);
    await expect(exported(source, { requireTotal: true })).rejects.toMatchObject({ code: 'rows-missing' });
  });

  test('names the row if only its listing is short', async () => {
    const { source } = await openEach({ parents: 7, children: 2, ofThird: 3 });
    await expect(exported(source, { requireTotal: true })).rejects.toThrow(
      'test.children: the API\'s total of rows is 3, but it listed 2 ("3" of test.parents)',
    );
  });

  test('is not compared where it was skipped, whatever total a page before stated', async () => {
    const { source, warnings } = await openEach({ parents: 7, children: 2, ofThird: 9, isThirdRefused: true });
    const { report } = await exported(source);
    expect([report.isIncomplete, report.rows, report.shortOfTotal]).toEqual([true, 14, undefined]);
    expect(warnings).toEqual([expect.stringContaining('skipped "3" of test.parents, so the rest of its rows')]);
    await expect(exported(source, { requireTotal: true })).rejects.toMatchObject({ code: 'rows-missing' });
  });

  test.each([0, 1, 2, 3, 4, 5])(
    'P10 compares the different keys of its parents, also after %i pages',
    async (pages) => {
      // Two of the five parents that it counts come twice, in place of others.
      const parents = [[1, 2], [2, 3], [3]];
      const { baseUrl } = await serve((url) => {
        const nth = Number(url.searchParams.get('cursor') ?? 0);
        const isParents = url.pathname === '/api/parents';
        const ids = isParents ? (parents[nth] ?? []) : [1];
        const isLast = !isParents || nth + 1 >= parents.length;
        return {
          body: { items: ids.map((id) => ({ id })), total: isParents ? 5 : 1, next: isLast ? null : String(nth + 1) },
        };
      });
      const paging = pagings['byCursor']!;
      const api = defineApi({
        name: 'test',
        sources: {
          parents: listing<Row>({ ...parts, path: '/parents', paging, key: 'id' }),
          children: listing({
            each: rowOf({ source: 'parents', params: ({ id }: { id: number }) => ({ parent: id }) }),
            ...parts,
            paging,
            version: '1',
            path: '/children/{parent}',
            key: 'id',
          }),
        },
      });
      const client = createClient({ apiKey: false, rateLimit: false }).use(api({ baseUrl }));
      onTestEnd(() => client.close());
      const options = { state: memoryState(), commitEvery: 1 };
      const sink = recordingSink<object>();
      const run = (more: ExportOptions = {}) => exportTo(client.test.children(), sink, { ...options, ...more }).run();
      if (pages > 0) await killedAtPage(sink, pages, run);
      await expect(run({ requireTotal: true })).rejects.toThrow(
        "test.parents: the API's total of rows is 5, but it listed 3 different rows, and 2 rows again",
      );
      // Each parent has one row, with the same key as that of the others.
      expect(await run({ requireTotal: false })).toMatchObject({ rows: 3 });
    },
  );

  test('tells that its parents are short of their total', async () => {
    const { source, warnings } = await openEach({ parents: 20, children: 2 });
    expect((await exported(source)).report.shortOfTotal).toBeUndefined();
    expect(warnings).toEqual([
      expect.stringContaining(
        "test.parents: the API's total of rows is 20, but it listed 7, so 13 may be missing, and so may their rows of test.children",
      ),
    ]);
    await expect(exported(source, { requireTotal: true })).rejects.toMatchObject({ code: 'rows-missing' });
  });

  test.each<[string, number, ExportOptions, WalkEnd]>([
    ['is incomplete', 20, {}, { isIncomplete: true, shortOfTotal: { total: 20, listed: 7 } }],
    ['is complete where that is allowed', 20, { requireTotal: false }, { isIncomplete: false }],
    ['is complete with all parents', 7, {}, { isIncomplete: false }],
  ])(
    '%s for a sink that replaces rows, also after an interruption',
    { tags: ['slow'] },
    async (_, parents, options, end) => {
      const { source } = await openEach({ parents, children: 2 });
      for (const pages of [0, 1, 4, 6]) {
        const recording = recordingSink<object>();
        const ends: WalkEnd[] = [];
        const sink: Sink<object> = {
          ...recording,
          isRefreshed: true,
          async open(context) {
            const writer = await recording.open(context);
            const seal: typeof writer.seal = (given) => {
              ends.push(given);
              return writer.seal(given);
            };
            return { ...writer, seal };
          },
        };
        const all = { ...options, state: memoryState(), commitEvery: 1 };
        const run = () => exportTo(source, sink, all).run();
        if (pages > 0) expect(await killedAtPage(recording, pages, run)).toBe(true);
        await run();
        expect(ends).toEqual([end]);
      }
    },
  );
});
