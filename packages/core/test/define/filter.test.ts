import { describe, expect, test } from 'vitest';
import { createClient, exportTo, memoryState } from '../../src/index.js';
import {
  byCursor,
  byKeyset,
  byOffset,
  byPage,
  bySince,
  defineApi,
  listing,
  rowOf,
  type FoundRows,
  type Paging,
} from '../../src/define/index.js';
import { onTestEnd } from '../../../../scripts/testScope.js';
import { recordingSink } from '../rows/sink/recordingSink.js';
import { openListing, serve } from './servedApi.js';

interface Row {
  readonly id: number;
  readonly kind: string;
}

const size = 5;
/** 20 rows, of which the first and the last page have some that are wanted. */
const all: Row[] = Array.from({ length: 20 }, (_, id) => ({ id, kind: id < 3 || id > 16 ? 'wanted' : 'other' }));
const wanted = [0, 1, 2, 17, 18, 19];
const isWanted = ({ kind }: Row): boolean => kind === 'wanted';

/** Pages by any of the parameters that the kinds of paging send; the rows' last page is followed by an empty one. */
const served = (total?: number) =>
  serve((url) => {
    const given = (name: string): number | undefined =>
      url.searchParams.has(name) ? Number(url.searchParams.get(name)) : undefined;
    const after = given('after');
    const page = given('page') ?? 1;
    const from =
      given('skip') ?? given('cursor') ?? given('since') ?? (after === undefined ? (page - 1) * size : after + 1);
    const items = all.slice(from, from + Number(url.searchParams.get('limit') ?? size));
    const next = from + size < all.length ? String(from + size) : null;
    return { body: { items, next, facets: [{ name: 'a' }, { name: 'b' }], ...(total !== undefined && { total }) } };
  });

const kinds: Record<string, Paging> = {
  byPage: byPage({ param: 'page' }),
  byOffset: byOffset({ param: 'skip' }),
  byKeyset: byKeyset([{ field: 'id', param: 'after' }]),
  byCursor: byCursor({ param: 'cursor', at: 'next' }),
  bySince: bySince({ param: 'since', field: 'id', type: 'integer' }),
};
const listed = {
  path: '/items',
  pageSize: { param: 'limit', default: size, max: 100 },
  columns: ['id', 'kind'],
  version: '1',
} as const;

describe('R3 P5 a filter stands directly before the output', () => {
  test.each(Object.entries(kinds))(
    '%s: pages whose rows are all left out are followed by others',
    async (_, paging) => {
      const { baseUrl } = await served();
      const items = listing<Row>({ ...listed, paging, rows: 'items', filter: isWanted });
      const source = openListing(items, { baseUrl });
      expect((await source().toArray()).map(({ id }) => id)).toEqual(wanted);
    },
  );

  test.each(Object.entries(kinds))('%s: a walk resumes at each page of a filtered listing', async (_, paging) => {
    const { baseUrl } = await served();
    const open = openListing(listing<Row>({ ...listed, paging, rows: 'items', filter: isWanted }), { baseUrl });
    let seen = 0;
    for await (const { items, position } of open().pages()) {
      seen += items.length;
      const rest: number[] = [];
      for await (const page of open().pages({ startAt: JSON.parse(JSON.stringify(position)) as typeof position }))
        rest.push(...page.items.map(({ id }) => id));
      expect(rest).toEqual(wanted.slice(seen));
    }
    expect(seen).toBe(wanted.length);
  });

  test('totals and positions count received rows, and progress shows no total that is not reached', async () => {
    const { baseUrl } = await served(20);
    const items = listing<Row>({
      ...listed,
      paging: kinds['byOffset']!,
      rows: 'items',
      total: 'total',
      filter: isWanted,
    });
    const pages = [];
    for await (const page of openListing(items, { baseUrl })().pages()) pages.push(page);
    expect(pages.at(-1)).toMatchObject({ listed: 20, endsPartition: true });
    expect(pages.at(-1)?.position).toMatchObject({ rows: 20, kept: 6 });
    expect(pages.every(({ total }) => total === undefined)).toBe(true);
  });

  test.each([1, 3, 4, 6, 7])('maxRows: %i counts the rows that are kept, also in a resumed walk', async (maxRows) => {
    const { baseUrl } = await served();
    const open = openListing(listing<Row>({ ...listed, paging: kinds['byPage']!, rows: 'items', filter: isWanted }), {
      baseUrl,
    });
    expect((await open({ maxRows }).toArray()).map(({ id }) => id)).toEqual(wanted.slice(0, maxRows));
    for await (const { position } of open({ maxRows }).pages()) {
      const rest: number[] = [];
      for await (const page of open({ maxRows }).pages({ startAt: position }))
        rest.push(...page.items.map(({ id }) => id));
      expect(rest).toEqual(wanted.slice(position.kept, maxRows));
    }
  });

  test('marks and known rows of an increment count received rows', async () => {
    const rows = [...all];
    const { baseUrl, asked } = await serve(({ searchParams }) => {
      const since = Number(searchParams.get('since') ?? 0);
      return { body: { items: rows.filter(({ id }) => id >= since).slice(0, size) } };
    });
    const items = listing<Row>({
      ...listed,
      paging: bySince({ param: 'since', field: 'id', type: 'integer', overlap: 2 }),
      rows: 'items',
      filter: ({ kind }) => kind === 'other',
    });
    const state = memoryState();
    const increment = async (): Promise<number[]> => {
      const sink = recordingSink<Row>();
      await exportTo(openListing(items, { baseUrl })(), sink, { state, incremental: true }).run();
      return sink.rows.map(({ id }) => id);
    };
    expect(await increment()).toEqual(Array.from({ length: 14 }, (_, nth) => nth + 3));
    rows.push({ id: 20, kind: 'other' }, { id: 21, kind: 'wanted' });
    asked.length = 0;
    expect(await increment()).toEqual([20]);
    expect(asked[0]).toBe('/items?limit=5&since=17');
  });

  test('rows that a filter leaves out are not parents', async () => {
    const { baseUrl, asked } = await serve((url) =>
      url.pathname === '/api/items'
        ? { body: { items: url.searchParams.get('page') === null ? all.slice(0, 10) : [] } }
        : { body: { items: url.searchParams.get('page') === null ? [{ id: 1 }] : [] } },
    );
    const api = defineApi({
      name: 'test',
      sources: {
        parents: listing<Row>({
          path: '/items',
          paging: byPage({ param: 'page' }),
          rows: 'items',
          columns: ['id'],
          version: '1',
          filter: isWanted,
          key: ({ id }) => id,
        }),
        children: listing({
          each: rowOf({ source: 'parents', params: ({ id }: { id: number }) => ({ id }) }),
          path: '/items/{id}',
          paging: byPage({ param: 'page' }),
          rows: 'items',
          columns: ['id'],
          version: '1',
        }),
      },
    });
    const client = createClient({ apiKey: false, rateLimit: false }).use(api({ baseUrl }));
    onTestEnd(() => client.close());
    expect(await client.test.children().toArray()).toHaveLength(3);
    expect([...new Set(asked.map((path) => path.split('?')[0]))]).toEqual([
      '/items',
      '/items/0',
      '/items/1',
      '/items/2',
    ]);
    expect(client.test.parents.describe()).toMatchObject({ isFiltered: true });
  });

  test('the reader of a listing, for tests, leaves the same rows out', () => {
    const items = listing<Row>({ ...listed, paging: kinds['byCursor']!, rows: 'items', filter: isWanted });
    const page = items.read({ body: { items: all.slice(0, 5), next: '5' } });
    expect(page.rows.map(({ id }) => id)).toEqual([0, 1, 2]);
  });

  test('a filter needs a version, must return true or false, and its own error is given as it is', async () => {
    const { baseUrl } = await served();
    const { version, ...unversioned } = listed;
    const define = (filter: (row: Row) => boolean) =>
      listing<Row>({ ...unversioned, version, paging: kinds['byPage']!, rows: 'items', filter });
    expect(() => listing<Row>({ ...unversioned, paging: kinds['byPage']!, rows: 'items', filter: isWanted })).toThrow(
      "invalid at version: give one, e.g. '1', and change it when the filter changes",
    );
    expect(() => listing<Row>({ ...unversioned, paging: kinds['byPage']!, rows: 'items', filter: isWanted })).toThrow(
      / It is the listing of "\/[^"]+"\.$/,
    );
    const promised = (async () => Promise.resolve(true)) as unknown as () => boolean;
    await expect(openListing(define(promised), { baseUrl })().toArray()).rejects.toMatchObject({
      code: 'config',
      message: 'The filter of test.items returned an object: it must return true or false.',
    });
    const failing = define(() => {
      throw new RangeError('not today');
    });
    await expect(openListing(failing, { baseUrl })().toArray()).rejects.toThrow('not today');
  });
});

interface Body {
  readonly items: readonly Row[];
}

describe('R3 P5 a rows function that leaves rows out ends no listing', () => {
  const functions = {
    'a filter': ({ body }: { body: unknown }) => ({ rows: (body as Body).items.filter(isWanted), at: 'items' }),
    'a filter of what a path finds': ({ at }: { at: (path: string) => unknown }) => ({
      rows: (at('items') as readonly Row[]).filter(isWanted),
      at: 'items',
    }),
    'a function that looks at no list of some pages': ({ body }: { body: unknown }) => {
      const { items } = body as Body;
      return { rows: items[0] === all[size] ? [] : items.filter(isWanted), at: 'items' };
    },
  };

  test.each(Object.entries(functions))('byPage, by %s', async (_, rows) => {
    const { baseUrl, asked } = await served();
    const source = openListing(listing<Row>({ ...listed, paging: kinds['byPage']!, rows }), { baseUrl });
    expect((await source().toArray()).map(({ id }) => id)).toEqual(wanted);
    expect(asked).toHaveLength(5);
  });

  describe('but one that reads a lookup table', () => {
    interface Looked {
      readonly users: readonly { readonly id: number; readonly name: string }[];
      readonly items?: readonly Row[] | null;
    }
    const open = async (rows: (answer: { body: unknown }) => FoundRows, last: object) => {
      const { baseUrl, asked } = await serve((url) => {
        const page = Number(url.searchParams.get('page') ?? 1);
        const users = [{ id: 1, name: 'a' }];
        return { body: { users, ...(page > 2 ? last : { items: all.slice((page - 1) * size, page * size) }) } };
      });
      return { asked, source: openListing(listing<Row>({ ...listed, paging: kinds['byPage']!, rows }), { baseUrl })() };
    };
    const looked = ({ body }: { body: unknown }): readonly Row[] => {
      const { users, items } = body as Looked;
      const names = new Map(users.map(({ id, name }) => [id, name]));
      return (items ?? []).map((row) => ({ ...row, name: names.get(row.id) }));
    };

    test.each(['itmes', 'itmes?', 'data.items'])('is refused at once if it names the place %s', async (at) => {
      const { source, asked } = await open((answer) => ({ rows: looked(answer), at }), { items: null });
      await expect(source.toArray()).rejects.toMatchObject({
        code: 'decode',
        message: expect.stringMatching(/at (itmes|data): there is no such field/) as string,
      });
      expect(asked).toHaveLength(1);
    });

    test('is refused if the place must exist and the last page lacks it', async () => {
      const { source, asked } = await open((answer) => ({ rows: looked(answer), at: 'items' }), {});
      await expect(source.toArray()).rejects.toMatchObject({
        code: 'decode',
        message: expect.stringContaining('at items: there is no such field') as string,
      });
      expect(asked).toHaveLength(3);
    });

    test('ends where the place is missing and may be', async () => {
      const { source, asked } = await open((answer) => ({ rows: looked(answer), at: 'items?' }), {});
      expect(await source.toArray()).toHaveLength(2 * size);
      expect(asked).toHaveLength(3);
    });
  });

  test('a list that the function does not read, such as facets, keeps no listing going', async () => {
    const { baseUrl, asked } = await served();
    const rows = ({ body }: { body: unknown }): FoundRows => ({ rows: (body as Body).items, at: 'items' });
    const source = openListing(listing<Row>({ ...listed, paging: kinds['byPage']!, rows }), { baseUrl });
    expect(await source().toArray()).toHaveLength(20);
    expect(asked).toHaveLength(5);
  });

  test.each(['byOffset', 'byKeyset', 'bySince'])('%s refuses a page of which no row is left', async (kind) => {
    const { baseUrl } = await served();
    const items = listing<Row>({
      ...listed,
      paging: kinds[kind]!,
      rows: ({ body }) => ({ rows: (body as Body).items.filter(({ id }) => id < 5), at: 'items' }),
    });
    await expect(openListing(items, { baseUrl })().toArray()).rejects.toMatchObject({
      code: 'decode',
      message: expect.stringContaining('give the listing a filter') as string,
    });
  });

  test.each<[string, string, (answer: { body: unknown }) => FoundRows, string]>([
    [
      'leaves rows out',
      'byOffset',
      ({ body }) => ({ rows: (body as Body).items.filter(({ id }) => id < 0), at: 'items' }),
      'and give the listing a filter.',
    ],
    [
      'names no place',
      'byPage',
      ({ body }) => ({ rows: (body as Body).items, at: 'other?' }),
      'names it as their place.',
    ],
    [
      'throws',
      'byPage',
      () => {
        throw new TypeError('no such thing');
      },
      'TypeError: no such thing. Does the definition fit the response, and is the base URL right?',
    ],
    [
      'returns no list',
      'byPage',
      () => ({ rows: {}, at: 'items' }) as unknown as FoundRows,
      'it is an object, and not a list. Does the definition fit the response, and is the base URL right?',
    ],
    [
      'returns only a list',
      'byPage',
      ({ body }) => (body as Body).items as unknown as FoundRows,
      'its rows function returned a list. It must return { rows, at }, with the path of the list that has the rows.',
    ],
  ])('an error of one that %s does not ask for the plugin', async (_, kind, rows, end) => {
    const { baseUrl } = await served();
    const source = openListing(listing<Row>({ ...listed, paging: kinds[kind]!, rows }), { baseUrl });
    const error: unknown = await source()
      .toArray()
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'decode' });
    expect(String(error)).toContain(end);
    expect(String(error)).not.toContain('plugin');
  });

  test('an error of a path asks for base URL and plugin', async () => {
    const { baseUrl } = await served();
    const source = openListing(listing<Row>({ ...listed, paging: kinds['byPage']!, rows: 'facet' }), { baseUrl });
    await expect(source().toArray()).rejects.toThrow("Is the base URL right, and the API's plugin new enough?");
  });

  describe('nor does a list beside the rows keep one going', () => {
    const headers = ['id', 'kind'];
    interface Grid extends Body {
      readonly headers: readonly string[];
      readonly facets: readonly { readonly name: string }[];
      readonly links: readonly object[];
    }
    /** Four pages with rows, then pages without. */
    const grid = (empty: unknown) =>
      serve((url) => {
        const at = (name: string): number => Number(url.searchParams.get(name) ?? 0);
        const from =
          at('skip') + (url.searchParams.has('after') ? at('after') + 1 : 0) + Math.max(0, at('page') - 1) * size;
        const items = all.slice(from, from + size);
        const rows = items.length > 0 ? { items } : empty !== 'none' && { items: empty };
        return { body: { headers, facets: [{ name: 'a' }, { name: 'b' }], links: [{}], ...rows } };
      });
    const withHeaders = ({ body }: { body: unknown }): readonly Row[] => {
      const { headers, items } = body as Grid;
      const names = headers.map((name) => name.toLowerCase());
      return items.map((row) => Object.fromEntries(names.map((name) => [name, row[name as 'id']])) as unknown as Row);
    };
    const counted = ['byPage', 'byOffset', 'byKeyset'];
    const toEnd = async (kind: string, rows: (answer: { body: unknown }) => FoundRows, empty: unknown = []) => {
      const { baseUrl, asked } = await grid(empty);
      const source = openListing(listing<Row>({ ...listed, paging: kinds[kind]!, rows }), { baseUrl });
      const found = await source().toArray();
      expect(asked.length).toBeLessThan(8);
      return found.length;
    };

    test.each(counted)('%s: the place of the rows tells', async (kind) => {
      expect(await toEnd(kind, (answer) => ({ rows: withHeaders(answer), at: 'items' }))).toBe(20);
    });

    test.each(counted)('%s: so does a place with null, or none', async (kind) => {
      const rows = (at: string) => (answer: { body: unknown }) => ({
        rows: (answer.body as Grid).items ? withHeaders(answer) : [],
        at,
      });
      expect(await toEnd(kind, rows('items'), null)).toBe(20);
      expect(await toEnd(kind, rows('items?'), 'none')).toBe(20);
    });
  });
});
