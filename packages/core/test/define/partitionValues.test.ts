import { lastValueFrom, toArray } from 'rxjs';
import { describe, expect, test } from 'vitest';
import { onTestEnd } from '../../../../scripts/testScope.js';
import { createClient, exportTo, memoryState } from '../../src/index.js';
import { byCursor, byPage, bySince, defineApi, listing, rowOf, type Listing } from '../../src/define/index.js';
import { recordingSink } from '../rows/sink/recordingSink.js';
import { openListing, serve } from './servedApi.js';

const paged = { rows: '', paging: byPage({ param: 'page', pages: () => 1 }) } as const;

describe('R6 partitions have values, which are parameters', () => {
  test('R6 of paths, queries, headers and fields: all combinations, the first name slowest', async () => {
    const server = await serve(() => ({ body: [{ id: 1 }] }));
    const items = listing<{ id: number; region: string }>({
      ...paged,
      path: '/{region}/items',
      query: { kind: '{kind}' },
      partitions: { region: ['eu', 'us'], kind: ['a', 'b'] },
      fields: { region: '{region}' },
      columns: ['region', 'id'],
    });
    const rows = await openListing(items, server)().toArray();
    expect(server.asked).toEqual(['/eu/items?kind=a', '/eu/items?kind=b', '/us/items?kind=a', '/us/items?kind=b']);
    expect(rows.map(({ region }) => region)).toEqual(['eu', 'eu', 'us', 'us']);
  });

  test('R6 are resumed, and walked one at a time as a cluster does', async () => {
    const server = await serve((url) => ({ body: [{ id: url.pathname }] }));
    const items = listing({ ...paged, path: '/{region}', partitions: { region: ['a', 'b', 'c'] }, columns: ['id'] });
    const source = openListing(items, server)();
    expect(source.info.partitions).toBe(3);
    const [page] = await lastValueFrom(source.pages({ partition: 1 }).pipe(toArray()));
    expect(page?.items).toEqual([{ id: '/api/b' }]);
    const rest = await lastValueFrom(
      source.pages({ startAt: { before: 2, begun: {}, rows: 2, pages: 2 } }).pipe(toArray()),
    );
    expect(rest.flatMap(({ items: rows }) => rows)).toEqual([{ id: '/api/c' }]);
  });

  test('R6 a plan keeps no more than a thousand requests: that of another partition is made again', async () => {
    const server = await serve(({ searchParams }) => ({
      body: { items: [{ id: searchParams.toString() }], next: searchParams.has('after') ? null : 'x' },
    }));
    const made = new Map<number, number>();
    const items = listing({
      path: '/items',
      rows: 'items',
      paging: byCursor({ param: 'after', at: 'next' }),
      partitions: () => Array.from({ length: 2_000 }, (_, nth) => ({ nth })),
      query({ nth }) {
        made.set(nth, (made.get(nth) ?? 0) + 1);
        return { nth, filter: 'x'.repeat(500 + nth) };
      },
      columns: ['id'],
    });
    const source = openListing(items, server)();
    expect(JSON.stringify(source.info.identity).length).toBeLessThan(500);
    expect(new Set(made.values())).toEqual(new Set([1]));
    await lastValueFrom(source.pages({ partition: 7 }));
    expect(server.asked.map((path) => path.length)).toEqual([527, 535]);
    expect([...made].filter(([, calls]) => calls > 1)).toEqual([[7, 2]]);
  });

  test('R6 a name twice, an empty list, and a value that no request has are errors', () => {
    const common = { ...paged, columns: ['id'] } as const;
    const open = <Row extends object, In extends object>(items: Listing<Row, In>) =>
      openListing(items, { baseUrl: 'https://api.example.com' });
    expect(() => listing({ ...common, path: '/{a}', partitions: { a: [] as string[] } })).toThrow(
      'a must be a list of at least one value',
    );
    expect(() => open(listing({ ...common, path: '/x', partitions: { a: [1, 2] } }))()).toThrow(
      'would send the same request for several partitions, so rows would come twice',
    );
    // A field of the rows makes no other request.
    expect(() => open(listing({ ...common, path: '/x', partitions: { a: [1, 2] }, fields: { a: '{a}' } }))()).toThrow(
      'would send the same request for several partitions',
    );
    const made = listing({ ...common, path: '/{a}', partitions: ({ b }: { b: string }) => [{ a: 1, b }] });
    expect(() => open(made)({ b: 'x' })).toThrow(
      'has the parameter "b" twice: it is given, and its partitions have it',
    );
    const none = listing({ ...common, path: '/{a}', partitions: (): { a: string }[] => [] });
    expect(() => open(none)()).toThrow('has nothing to request: there are no partitions');
    // @ts-expect-error -- the partitions have it
    expect(() => open(listing({ ...common, path: '/{a}', partitions: { a: [1, 2] } }))({ a: 1 })).toThrow(
      'has no parameter "a"',
    );
  });
});

test('R6 what the fields of rows are made of is part of the plan', () => {
  const items = listing({ ...paged, path: '/items', fields: { day: '{day}' }, columns: ['day'] });
  const open = openListing(items, { baseUrl: 'https://api.example.com' });
  const [first, other] = ['01', '02'].map((day) => open({ day }).info);
  expect(first?.identity).not.toEqual(other?.identity);
  expect(first?.rowsIdentity).not.toEqual(other?.rowsIdentity);
  // @ts-expect-error -- a parameter of the fields is missing
  expect(() => open()).toThrow('needs the parameter "day": its fields are made of it');
  expect(() => listing({ ...paged, path: '/items', fields: () => ({}), columns: ['id'] })).toThrow(
    'invalid at version',
  );
});

describe('R6 parents times values', () => {
  /** Repos `a` and `b`, each with rows of two states, by their time. */
  async function openRepos() {
    const times: Record<string, number[]> = { 'a/open': [1], 'a/closed': [9], 'b/open': [3], 'b/closed': [] };
    const server = await serve((url) => {
      const [, repo = ''] = /^\/api\/repos\/(\w)$/.exec(url.pathname) ?? [];
      if (repo === '') return { body: { items: [{ name: 'a' }, { name: 'b' }], next: null } };
      const since = Number(url.searchParams.get('since') ?? 0);
      const all = times[`${repo}/${url.searchParams.get('state') ?? ''}`] ?? [];
      return { body: { items: all.filter((at) => at >= since).map((at) => ({ at })), next: null } };
    });
    interface Row {
      readonly repo: string;
      readonly state: string;
      readonly at: number;
    }
    const api = defineApi({
      name: 'forge',
      sources: {
        repos: listing<{ name: string }>({
          path: '/repos',
          rows: 'items',
          paging: byCursor({ param: 'after', at: 'next' }),
          columns: ['name'],
          key: ({ name }) => name,
        }),
        rows: listing<Row, { repo: string }, object, { state: string }>({
          each: rowOf({ source: 'repos', params: ({ name }: { name: string }) => ({ repo: name }) }),
          partitions: { state: ['open', 'closed'] },
          path: '/repos/{repo}',
          query: { state: '{state}' },
          fields: { repo: '{repo}', state: '{state}' },
          pageSize: { param: 'n', default: 10, max: 10 },
          paging: bySince({ param: 'since', field: 'at', type: 'integer' }),
          rows: 'items',
          columns: ['repo', 'state', 'at'],
          version: '1',
        }),
      },
    });
    const client = createClient({ apiKey: 'test-key-1', rateLimit: false, retry: { retries: 0 } }).use(
      api({ baseUrl: server.baseUrl }),
    );
    onTestEnd(() => client.close());
    const increment = async (state = memoryState()): Promise<string[]> => {
      const sink = recordingSink<Row>();
      await exportTo(client.forge.rows(), sink, { state, incremental: true, commitEvery: 1 }).run();
      return sink.rows.map(({ repo, state: of, at }) => `${repo}/${of} ${String(at)}`);
    };
    return { times, increment, source: () => client.forge.rows() };
  }

  test('R6 with one request for two values of a parent are refused', async () => {
    const server = await serve(() => ({ body: [{ name: 'a' }] }));
    const api = defineApi({
      name: 'forge',
      sources: {
        repos: listing({ ...paged, path: '/repos', columns: ['name'], key: ({ name }) => String(name) }),
        rows: listing({
          ...paged,
          each: rowOf({ source: 'repos', params: ({ name }: { name: string }) => ({ repo: name }) }),
          partitions: { state: ['open', 'closed'] },
          path: '/{repo}',
          columns: ['id'],
          version: '1',
        }),
      },
    });
    const client = createClient({ apiKey: false }).use(api({ baseUrl: server.baseUrl }));
    onTestEnd(() => client.close());
    await expect(client.forge.rows().toArray()).rejects.toThrow(
      'forge.rows would send the same request for several partitions, so rows would come twice',
    );
  });

  test('R6 are walked by parent, then by value, and a mark belongs to both', async () => {
    const { times, increment } = await openRepos();
    const state = memoryState();
    expect(await increment(state)).toEqual(['a/open 1', 'a/closed 9', 'b/open 3']);
    // Before the mark of the same parent's other value.
    times['a/open']?.push(2);
    expect(await increment(state)).toEqual(['a/open 2']);
  });
});
