import { describe, expect, test } from 'vitest';
import {
  createSource,
  exportTo,
  memoryState,
  type ExportOptions,
  type ExportReport,
  type Source,
} from '../../../src/index.js';
import { byCursor, byLink, byOffset, byPage, bySince, listing, type Paging } from '../../../src/define/index.js';
import { map } from 'rxjs';
import { openListing, serve } from '../../define/servedApi.js';
import { killedAtPage } from './killedAtPage.js';
import { recordingSink } from '../sink/recordingSink.js';

interface Row {
  readonly id: number | string;
  readonly shop: string;
}

const parts = { path: '/rows', rows: 'items', total: 'total?', columns: ['id', 'shop'] } as const;

/** Pages of ids, as any paging requests them. */
function pagesOf(pages: readonly (readonly (number | string)[])[], total?: number | ((page: number) => number)) {
  const all = pages.flat();
  const size = pages[0]?.length ?? 0;
  return serve((url) => {
    const given = (name: string): number => Number(url.searchParams.get(name) ?? 0);
    const nth = Math.max(given('page') - 1, 0) + given('cursor');
    // The row before an offset is requested with the rows behind it.
    const offset = given('offset');
    const ids = offset > 0 ? all.slice(offset, offset + size + 1) : (pages[nth] ?? []);
    const items = ids.map((id) => ({ id, shop: 'a' }));
    const isLast = nth >= pages.length - 1;
    return {
      body: {
        items,
        next: isLast ? null : String(nth + 1),
        link: isLast ? null : `/api/rows?cursor=${String(nth + 1)}`,
        pages: pages.length,
        ...(total !== undefined && { total: typeof total === 'number' ? total : total(nth) }),
      },
    };
  });
}

const pagings: Record<string, Paging> = {
  byOffset: byOffset({ param: 'offset' }),
  byPage: byPage({ param: 'page' }),
  'byPage, by the number of pages': byPage({ param: 'page', pages: 'pages' }),
  byCursor: byCursor({ param: 'cursor', at: 'next' }),
  byLink: byLink({ at: 'link' }),
};

/** Ten rows by its total, of which 2, 5 and 8 are missing, and others stand there twice. */
const repeated = [[0, 1, 9], [1, 3, 4], [4, 6, 7], [7]];

async function exported<T>(
  source: Source<T>,
  options: ExportOptions = {},
): Promise<{ readonly report: ExportReport; readonly warnings: string[]; readonly rows: T[] }> {
  const warnings: string[] = [];
  const sink = recordingSink<T>();
  const report = await exportTo(source, sink, { ...options, onWarning: (message) => warnings.push(message) }).run();
  return { report, warnings, rows: sink.rows };
}

/** What a listing has besides, or instead. */
interface Changes {
  readonly paging?: Paging;
  readonly key?: Parameters<typeof listing<Row>>[0]['key'] | undefined;
  readonly filter?: (row: Row) => boolean;
  readonly version?: string;
}

async function open(
  pages: Parameters<typeof pagesOf>[0],
  total?: Parameters<typeof pagesOf>[1],
  { paging = pagings['byCursor']!, ...more }: Changes = {},
) {
  const { baseUrl } = await pagesOf(pages, total);

  const defined = { ...parts, key: 'id', paging, ...more } as Parameters<typeof listing<Row>>[0];
  return openListing(listing<Row>(defined), { baseUrl });
}

describe('P10 an export compares the different keys of a listing with its total', () => {
  test.each(Object.entries(pagings))('%s: rows that come again do not stand for missing ones', async (_, paging) => {
    const source = await open(repeated, 10, { paging });
    const { report, warnings } = await exported(source());
    expect(report).toMatchObject({ rows: 10, repeatedRows: 3, shortOfTotal: { total: 10, listed: 7 } });
    expect(warnings).toEqual([
      "test.items: the API's total of rows is 10, but it listed 7 different rows, and 3 rows again, by their keys, so 3 may be missing. Does it repeat rows in place of others? Does the key not identify a row? Or does the total count something else?",
    ]);
    await expect(exported(source(), { requireTotal: true })).rejects.toMatchObject({
      code: 'rows-missing',
      details: { total: 10, listed: 7, repeated: 3 },
    });
  });

  test.each<[string, Changes['key']]>([
    ['a field', 'id'],
    ['several fields', ['shop', 'id']],
    ['a function', ({ id }) => `row ${String(id)}`],
  ])('by a key of %s', async (_, key) => {
    const source = await open([['1', 2], [1, '2'], ['3']], 5, { key, version: '1' });
    // A number is the same key as its digits.
    expect((await exported(source())).report).toMatchObject({
      repeatedRows: 2,
      shortOfTotal: { total: 5, listed: 3 },
    });
  });

  test('says how many rows came again if none is missing, and only that', async () => {
    const source = await open(
      [
        [0, 1],
        [1, 2],
        [2, 3],
      ],
      4,
    );
    const { report, warnings, rows } = await exported(source(), { requireTotal: true });
    expect(report).toMatchObject({ rows: 6, repeatedRows: 2 });
    expect([rows.length, report.shortOfTotal, report.overTotal]).toEqual([6, undefined, undefined]);
    expect(warnings).toEqual([expect.stringContaining('test.items: the API listed 2 rows again, by their keys.')]);
  });

  test('also where the API states no total', async () => {
    const source = await open([[0, 1], [1]]);
    const { report, warnings } = await exported(source());
    expect(report).toMatchObject({ rows: 3, repeatedRows: 1 });
    expect(warnings).toEqual([expect.stringContaining('the API listed 1 row again, by its key')]);
  });

  test.each<[string, number | ((page: number) => number), object | undefined]>([
    ['the same on all pages', 4, { total: 4, listed: 6 }],
    ['growing, and still too small', (page) => 3 + page, { total: 5, listed: 6 }],
    ['growing to the number of rows', (page) => 4 + page, undefined],
    ['that of each page', (page) => [3, 2, 1][page]!, undefined],
  ])('says that there are more rows than a total that is %s', async (_, total, overTotal) => {
    for (const key of ['id', undefined] as const) {
      const source = await open([[0, 1, 2], [3, 4], [5]], total, { key });
      const { report, warnings } = await exported(source());
      expect(report.overTotal).toEqual(overTotal);
      expect(warnings).toEqual(overTotal ? [expect.stringMatching(/listed 6, which is \d more/)] : []);
      const required = exported(source(), { requireTotal: true });
      await (overTotal
        ? expect(required).rejects.toMatchObject({ code: 'rows-missing' })
        : expect(required).resolves.toBeDefined());
    }
  });

  test('counts rows that a filter leaves out, and those before an operator', async () => {
    const source = await open(repeated, 10, { filter: ({ id }) => Number(id) < 4, version: '1' });
    const filtered = await exported(source());
    expect(filtered.rows.map(({ id }) => id)).toEqual([0, 1, 1, 3]);
    expect(filtered.report).toMatchObject({ rows: 4, repeatedRows: 3, shortOfTotal: { total: 10, listed: 7 } });
    const piped = source().pipePages(map(() => ({ nothing: 1 })));
    expect((await exported(piped)).report).toMatchObject({ rows: 4, repeatedRows: 3, shortOfTotal: { listed: 7 } });
  });

  test('compares each partition by itself: a row may belong to two', async () => {
    const pages: Record<string, readonly number[]> = { a: [1, 2, 3], b: [3, 4, 4], c: [3, 5] };
    const { baseUrl } = await serve((url) => {
      const ids = pages[url.searchParams.get('group') ?? ''] ?? [];
      const from = Number(url.searchParams.get('offset') ?? 0);
      return { body: { items: ids.slice(from, from + 2).map((id) => ({ id })), total: ids.length } };
    });
    const items = listing<Row>({
      ...parts,
      key: 'id',
      paging: byOffset({ param: 'offset' }),
      query: { group: '{group}' },
      partitions: { group: Object.keys(pages) },
    });
    const source = openListing(items, { baseUrl });
    for (const concurrency of [1, 4]) {
      const { report, warnings } = await exported(source(), { concurrency });
      expect(report).toMatchObject({ rows: 8, repeatedRows: 1, shortOfTotal: { total: 3, listed: 2 } });
      expect(warnings).toEqual([
        expect.stringContaining('listed 2 different rows (partition 2 of 3), and 1 row again'),
      ]);
      const dropped = await exported(source(), { concurrency, repeats: 'drop' });
      expect(dropped.rows.map(({ id }) => id).toSorted()).toEqual([1, 2, 3, 3, 3, 4, 5]);
    }
  });

  test('a row without a key is not taken for another one', async () => {
    const source = createSource({
      name: 'own.rows',
      identity: null,
      schema: { columns: ['id'], key: () => '' },
      fetch: () => Promise.resolve({ rows: [{ id: 1 }, { id: 2 }], next: 'end', total: 2 }),
    });
    expect((await exported(source)).report).not.toHaveProperty('repeatedRows');
  });

  test('nothing is compared in an increment, where rows come again on purpose', async () => {
    const { baseUrl } = await serve(() => ({ body: { items: [{ id: 1 }, { id: 1 }], total: 1 } }));
    const paging = bySince({ param: 'since', field: 'id', type: 'integer', overlap: 1 });
    const pageSize = { param: 'limit', default: 5, max: 5 };
    const source = openListing(listing<Row>({ ...parts, key: 'id', paging, pageSize }), { baseUrl })();
    const options = { state: memoryState(), incremental: true } as const;
    const { report, warnings } = await exported(source, options);
    expect([report.repeatedRows, report.overTotal, warnings]).toEqual([undefined, undefined, []]);
    expect(() => exportTo(source, recordingSink<Row>(), { ...options, repeats: 'drop' })).toThrow('incrementally');
  });
});

describe('P10 rows that come again', () => {
  test('are dropped, so that the first one of each key stays', async () => {
    const source = await open(repeated, 7);
    const { report, warnings, rows } = await exported(source(), { repeats: 'drop', requireTotal: true });
    expect(rows.map(({ id }) => id)).toEqual([0, 1, 9, 3, 4, 6, 7]);
    expect([report.rows, report.repeatedRows, warnings]).toEqual([7, 3, []]);
  });

  test('are not counted beyond maxRows, which counts what is exported', async () => {
    const source = await open(repeated);
    const bounded = async (maxRows: number, repeats: ExportOptions['repeats']) => {
      const { report, rows } = await exported(source({ maxRows }), { repeats });
      return [rows.map(({ id }) => id).join(' '), report.repeatedRows];
    };
    expect(await bounded(5, 'drop')).toEqual(['0 1 9 3 4', 1]);
    expect(await bounded(5, 'keep')).toEqual(['0 1 9 1 3', 1]);
    expect(await bounded(3, 'keep')).toEqual(['0 1 9', undefined]);
  });

  test('fail the export at the first one, in this run and the next', async () => {
    const source = await open(repeated, 10);
    const options = { state: memoryState(), repeats: 'fail', commitEvery: 1 } as const;
    const sink = recordingSink<Row>();
    for (let run = 0; run < 2; run += 1) {
      await expect(exportTo(source(), sink, options).run()).rejects.toMatchObject({
        code: 'rows-repeated',
        message: expect.stringContaining('page 2 lists the row "1" again') as string,
      });
      expect(sink.rows.map(({ id }) => id)).toEqual([0, 1, 9]);
    }
  });

  test('can be dropped only by a key', async () => {
    const source = await open(repeated, 10, { key: undefined });
    expect(() => exportTo(source(), recordingSink<Row>(), { repeats: 'drop' })).toThrow(
      "repeats: 'drop' needs a key by which the rows of test.items are compared",
    );
    expect((await exported(source())).report).not.toHaveProperty('repeatedRows');
  });

  test('another choice is another plan, except between keep and fail', async () => {
    const source = await open([[0, 1], [1, 2], [3]], 4);
    const state = memoryState();
    const sink = recordingSink<Row>();
    const run = (repeats: ExportOptions['repeats']) =>
      exportTo(source(), sink, { state, repeats, commitEvery: 1 }).run();
    expect(await killedAtPage(sink, 2, () => run('drop'))).toBe(true);
    await expect(run('keep')).rejects.toMatchObject({ code: 'checkpoint', details: { changed: ['repeats'] } });
    expect(await run('drop')).toMatchObject({ rows: 4, repeatedRows: 1 });
    expect(await run('drop')).toMatchObject({ rows: 4, repeatedRows: 1 });
  });

  test.each(['keep', 'drop'] as const)(
    '%s: an interrupted export judges, and exports, as one that was not',
    { tags: ['slow'] },
    async (repeats) => {
      // Group c has no repeated row and its total; a and b lack some; d is one page.
      const groups: Record<string, readonly (readonly number[])[]> = {
        a: [[1, 2], [2, 3], [1, 4], [5]],
        b: [[7], [7, 8], [9], [8, 7], [10]],
        c: [[1, 2], [3], [4]],
        d: [[5, 5]],
      };
      const { baseUrl } = await serve((url) => {
        const pages = groups[url.searchParams.get('group') ?? ''] ?? [];
        const nth = Number(url.searchParams.get('cursor') ?? 0);
        const items = (pages[nth] ?? []).map((id) => ({ id }));
        return { body: { items, total: pages.flat().length, next: nth + 1 < pages.length ? String(nth + 1) : null } };
      });
      const items = listing<Row>({
        ...parts,
        key: 'id',
        paging: pagings['byCursor']!,
        query: { group: '{group}' },
        partitions: { group: Object.keys(groups) },
      });
      const source = openListing(items, { baseUrl });
      const whole = await exported(source(), { repeats });
      expect(whole.report).toMatchObject({ repeatedRows: 6, shortOfTotal: { total: 16, listed: 10 } });
      for (const concurrency of [1, 4])
        for (const commitEvery of [1, 3])
          for (let first = 1; first <= 12; first += 1)
            for (const second of [1, 3]) {
              const options = { state: memoryState(), repeats, concurrency, commitEvery };
              const sink = recordingSink<Row>();
              const run = () => exportTo(source(), sink, options).run();
              await killedAtPage(sink, first, run);
              await killedAtPage(sink, second, run);
              const report = await run();
              expect([report.repeatedRows, report.shortOfTotal]).toEqual([6, whole.report.shortOfTotal]);
              const ids = (rows: readonly Row[]): string =>
                rows
                  .map(({ id }) => String(id))
                  .toSorted()
                  .join(' ');
              expect(ids(sink.rows)).toBe(ids(whole.rows));
            }
    },
  );

  test('an expired cursor lets the partition start over, with the keys from there', async () => {
    let refused = 0;
    const { baseUrl } = await serve((url) => {
      const nth = Number(url.searchParams.get('cursor') ?? 0);
      if (nth === 2 && refused++ === 0) return { status: 410, body: {} };
      const items = (repeated[nth] ?? []).map((id) => ({ id }));
      return { body: { items, total: 7, next: nth < 3 ? String(nth + 1) : null } };
    });
    const items = listing<Row>({ ...parts, key: 'id', paging: pagings['byCursor']! });
    const source = openListing(items, { baseUrl })();
    const sink = { ...recordingSink<Row>(), withoutPartition: () => 0 };
    const options = { state: memoryState(), commitEvery: 1, onExpired: 'restart-partition' } as const;
    const report = await exportTo(source, sink, options).run();
    expect(report).toMatchObject({ rows: 10, repeatedRows: 3 });
    expect(report.shortOfTotal).toBeUndefined();
  });

  test('an unfinished export of an earlier version, without keys, compares the rows that follow', async () => {
    const source = await open(repeated, 10);
    const state = memoryState();
    const sink = recordingSink<Row>();
    const run = () => exportTo(source(), sink, { state, commitEvery: 1 }).run();
    expect(await killedAtPage(sink, 3, run)).toBe(true);
    await state.log('keys').remove();
    expect(await run()).toMatchObject({ rows: 10, repeatedRows: 2 });
  });

  test('a log that lacks keys is damage', async () => {
    const source = await open(repeated, 10);
    const state = memoryState();
    const sink = recordingSink<Row>();
    const run = () => exportTo(source(), sink, { state, commitEvery: 1 }).run();
    expect(await killedAtPage(sink, 3, run)).toBe(true);
    const log = state.log('keys');
    const records: object[] = [];

    for await (const record of log.read()) records.push(record as object);
    await log.replace(records.slice(0, 1));
    await expect(run()).rejects.toMatchObject({ code: 'checkpoint' });
  });

  test('a walk by itself compares keys only where it is asked to', async () => {
    const rows = [{ id: 1 }, { id: 1 }];
    const source = createSource({
      name: 'own.rows',
      identity: null,
      schema: { columns: ['id'], key: ({ id }: { id: number }) => id },
      fetch: () => Promise.resolve({ rows, next: 'end', total: 2 }),
    });
    const last = async (options: Parameters<typeof source.pages>[0]) => {
      for await (const { position, items } of source.pages(options)) return [items.length, position.repeated];
      return undefined;
    };
    expect(await last({})).toEqual([2, undefined]);
    expect(await last({ repeats: 'keep' })).toEqual([2, 1]);
    expect(await last({ repeats: 'drop' })).toEqual([1, 1]);
    await expect(last({ repeats: 'fail' })).rejects.toMatchObject({ code: 'rows-repeated' });
  });
});
