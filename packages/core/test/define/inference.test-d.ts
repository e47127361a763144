import * as v from 'valibot';
import { z } from 'zod';
import { createClient, type Change, type Source, type StateStore } from '../../src/index.js';
import { byCursor, defineApi, listing, rowOf, type ApiSource } from '../../src/define/index.js';

declare const baseUrl: string;
declare const state: StateStore;

const common = { path: '/items', rows: 'items', paging: byCursor({ param: 'c', at: 'next' }) } as const;

const api = defineApi({
  name: 'test',
  sources: {
    zod: listing({
      ...common,
      params: z.object({ currency: z.string(), days: z.coerce.number().optional() }),
      query: ({ currency, days = 1 }) => ({ currency, hours: days * 24 }),
      schema: z.object({ id: z.string(), price: z.string().transform(Number) }),
      version: '1',
      columns: ['id', 'price'],
      key: (row) => row.id.toUpperCase() + row.price.toFixed(2),
    }),
    valibot: listing({
      ...common,
      path: '/users/{owner}',
      schema: v.object({ n: v.number() }),
      version: '1',
      columns: ['n'],
      key: (row) => row.n.toFixed(),
    }),
    decoded: listing({
      ...common,
      decode: (row, path) => ({ path, row }),
      version: '1',
      columns: ['path'],
    }),
    plain: listing({ ...common, columns: ['anything'], key: 'whatever' }),
    keyed: listing({
      ...common,
      schema: v.object({ account: v.string(), n: v.number() }),
      version: '1',
      columns: ['n'],
      key: ['account', 'n'],
    }),
    unkeyed: listing({
      ...common,
      schema: v.object({ n: v.number() }),
      version: '1',
      columns: ['n'],
      // @ts-expect-error: the rows have no such field.
      key: 'nn',
    }),
  },
});

const client = createClient({ apiKey: 'key-of-ours' }).use(api({ baseUrl }));

// What is asked for and what comes, as the definition says.
client.test.zod({ currency: 'usd' }) satisfies Source<{ id: string; price: number }>;
client.test.zod({ currency: 'usd', days: '7', pageSize: 10, maxRows: 5, maxPages: undefined });
client.test.zod.watch({ currency: 'usd' }, { every: 10, state }) satisfies Source<
  Change<{ id: string; price: number }>
>;
client.test.zod.watch({ currency: 'usd' }, { every: 10, key: ({ price }) => price.toFixed() });
client.test.valibot({ owner: 'a' }) satisfies Source<{ n: number }>;
client.test.decoded() satisfies Source<{ path: string; row: unknown }>;
client.test.plain() satisfies Source<Record<string, unknown>>;
client.test.plain({ maxRows: 3 }) satisfies Source<Record<string, unknown>>;
void (client.test.plain satisfies ApiSource<object, Record<string, unknown>>);

// @ts-expect-error -- a parameter is missing
client.test.zod();
// @ts-expect-error -- a parameter is of another type
client.test.zod({ currency: 7 });
// @ts-expect-error -- there is no such parameter
client.test.zod({ currency: 'usd', dyas: 7 });
// @ts-expect-error -- there are no parameters
client.test.plain({ currency: 'usd' });
// @ts-expect-error -- how it is watched stands apart from what is asked for
client.test.zod.watch({ currency: 'usd', every: 10 });
// @ts-expect-error -- a watch has no bound of rows
client.test.zod.watch({ currency: 'usd', maxRows: 10 }, { every: 10 });
// @ts-expect-error -- a watch needs its rate
client.test.zod.watch({ currency: 'usd' }, {});
// @ts-expect-error -- there is no such source
client.test.other();

// @ts-expect-error -- a column that no row has
listing({ ...common, schema: z.object({ id: z.string() }), version: '1', columns: ['name'] });
// @ts-expect-error -- a schema without a version
listing({ ...common, schema: z.object({ id: z.string() }), columns: ['id'] });
// @ts-expect-error -- a function without a version
listing({ ...common, decode: () => ({ id: 1 }), columns: ['id'] });
// @ts-expect-error -- a schema and a function
listing({
  ...common,
  schema: z.object({ id: z.string() }),
  decode: () => ({ id: '1' }),
  version: '1',
  columns: ['id'],
});
listing({ ...common, schema: z.object({ id: z.number() }), version: '1', columns: ['id'], key: ({ id }) => id });
// @ts-expect-error -- a key that is neither text nor a number
listing({ ...common, schema: z.object({ id: z.boolean() }), version: '1', columns: ['id'], key: ({ id }) => id });
// @ts-expect-error -- a parameter that would be taken for a bound
listing({ ...common, params: z.object({ pageSize: z.number() }), query: () => ({}), columns: ['id'] });
// @ts-expect-error -- a query that can't be sent
listing({ ...common, query: () => ({ deep: { a: 1 } }), columns: ['id'] });
// @ts-expect-error -- rows that are no objects
listing({ ...common, schema: z.string(), version: '1', columns: [] });

const repo = ({ name }: { name: string }): { repo: string } => ({ repo: name });
const children = defineApi({
  name: 'forge',
  sources: {
    repos: listing({ ...common, columns: ['name'], key: ({ name }) => String(name) }),
    plain: listing({
      ...common,
      each: rowOf({ source: 'repos', params: repo }),
      path: '/repos/{repo}',
      version: '1',
      columns: ['id'],
    }),
    given: listing({
      ...common,
      each: rowOf({
        source: 'repos',
        params: ({ name }: { name: string }, { state }: { state?: string; org: string }) => ({ repo: name, state }),
        parentParams: ({ org }) => ({ org: org.trim() }),
      }),
      fields: { repo: '{repo}' },
      path: '/repos/{+repo}',
      query: { state: '{state}' },
      schema: z.object({ repo: z.string(), id: z.number() }),
      version: '1',
      columns: ['repo', 'id'],
    }),
    checked: listing({
      ...common,
      each: rowOf({
        source: 'repos',
        given: z.object({ days: z.coerce.number<string>() }),
        params: ({ name }: { name: string }, { days }) => ({ repo: name, hours: days * 24 }),
      }),
      path: '/repos/{repo}/{hours}',
      version: '1',
      columns: ['id'],
    }),
  },
});
const forge = createClient({ apiKey: 'key-of-ours' }).use(children({ baseUrl })).forge;

// The parameters of a listing with parents are what `params` takes besides the parent, not what it makes.
forge.plain() satisfies Source<Record<string, unknown>>;
forge.plain({ maxRows: 3 });
forge.given({ org: 'a' }) satisfies Source<{ repo: string; id: number }>;
forge.checked({ days: '7' });
// @ts-expect-error -- a parameter that is made of the parent
forge.plain({ repo: 'a' });
// @ts-expect-error -- a parameter is missing
forge.given();
// @ts-expect-error -- a parameter as its schema makes it
forge.checked({ days: 7 });

// R6 Values of partitions are parameters that nobody gives.
const divided = defineApi({
  name: 'divided',
  sources: {
    table: listing({
      ...common,
      path: '/{region}/{owner}',
      query: { kind: '{kind}' },
      partitions: { region: ['eu', 'us'], kind: [1, 2] },
      fields: { region: '{region}', day: '{day}' },
      columns: ['id'],
    }),
    made: listing({
      ...common,
      path: '/{region}',
      partitions: ({ regions }: { regions: readonly string[] }) => regions.map((region) => ({ region, n: 1 })),
      query: ({ n }) => ({ n: n.toFixed() }),
      columns: ['id'],
    }),
    ofEach: listing({
      ...common,
      each: rowOf({ source: 'repos', params: repo }),
      path: '/{repo}',
      query: { state: '{state}' },
      partitions: { state: ['open', 'closed'] },
      fields: { repo: '{repo}', state: '{state}' },
      version: '1',
      columns: ['repo', 'id'],
    }),
  },
});
const { table, made, ofEach } = createClient({ apiKey: 'key-of-ours' }).use(divided({ baseUrl })).divided;
table({ owner: 'a', day: '2026-01-31' });
made({ regions: ['eu'] });
ofEach();
// @ts-expect-error -- a parameter of the fields is missing
table({ owner: 'a' });
// @ts-expect-error -- the partitions have it
table({ owner: 'a', day: '2026-01-31', region: 'eu' });
// @ts-expect-error -- the partitions are made of it
made();
// @ts-expect-error -- the parents have it
ofEach({ repo: 'a' });
const ofRepo = { ...common, each: rowOf({ source: 'repos', params: repo }), path: '/{repo}', version: '1' } as const;
// @ts-expect-error -- neither the parents nor the partitions have it
listing({ ...ofRepo, partitions: { state: ['open'] }, fields: { state: '{stat}' }, columns: ['id'] });
// @ts-expect-error -- a list of values that is none
listing({ ...common, path: '/{state}', partitions: { state: 'open' }, columns: ['id'] });

// R5 Templates name parameters.
const named = defineApi({
  name: 'named',
  sources: {
    path: listing({ ...common, path: '/repos/{owner}/{+repo}/issues', columns: ['id'] }),
    values: listing({
      ...common,
      query: { state: '{state}', fields: 'posts{message}' },
      body: { query: '{ viewer { id } }', variables: { list: ['{after}'] } },
      method: 'POST',
      decode: (row, path) => ({ path, row }),
      version: '1',
      columns: ['path'],
    }),
    mixed: listing({
      ...common,
      path: '/{org}',
      query: ({ day }: { day?: string }) => ({ day: day?.trim() }),
      columns: ['id'],
    }),
  },
});
const { path, values, mixed } = createClient({ apiKey: 'key-of-ours' }).use(named({ baseUrl })).named;
path({ owner: 'a', repo: 1, maxRows: 3 });
values({ state: true, after: 'a' }) satisfies Source<{ path: string; row: unknown }>;
values({ state: ['a', 'b'], after: 'a' });
mixed({ org: 'a' });
mixed({ org: 'a', day: 'b' });
// @ts-expect-error -- a parameter of the path is missing
path({ owner: 'a' });
// @ts-expect-error -- a parameter of the path is a list
path({ owner: 'a', repo: ['b'] });
// @ts-expect-error -- there is no such parameter
path({ owner: 'a', repo: 'b', name: 'c' });
// @ts-expect-error -- a parameter of the query is missing
values({ after: 'a' });
// @ts-expect-error -- a parameter of the path is missing
mixed({ day: 'b' });
// @ts-expect-error -- a path with a parameter that the schema does not have
listing({ ...common, params: z.object({ owner: z.string() }), path: '/{ownr}', columns: ['id'] });
// @ts-expect-error -- a path with a parameter that may be missing
listing({ ...common, params: z.object({ owner: z.string().optional() }), path: '/{owner}', columns: ['id'] });
// @ts-expect-error -- a query with a parameter that the schema does not have
listing({ ...common, params: z.object({ owner: z.string() }), query: { a: '{ownr}' }, columns: ['id'] });
listing({ ...common, params: z.object({ a: z.string().optional() }), query: { a: '{a}' }, columns: ['id'] });
// @ts-expect-error -- a path with a parameter that no parent has
listing({ ...common, each: rowOf({ source: 'r', params: repo }), path: '/{rep}', version: '1', columns: ['id'] });
// @ts-expect-error -- a path is no function
listing({ ...common, path: () => '/items', columns: ['id'] });

// R1 What responses mean.
const { items } = createClient({ apiKey: 'key-of-ours' }).use(
  defineApi({
    name: 'said',
    responses: { 401: 'renew', '4xx': 'final' },
    sources: {
      items: listing({
        ...common,
        responses: { 404: 'skip', 420: { kind: 'rate-limited', retryAfter: 1_000 }, '5xx': 'retry' },
        columns: ['id'],
      }),
    },
  })({ baseUrl }),
).said;
items() satisfies Source<Record<string, unknown>>;
listing({ ...common, responses: ({ status, page }) => (status === 404 && page > 1 ? 'end' : undefined), columns: [] });
listing({ ...common, responses: ({ body }) => ({ kind: 'ok', pause: Number(body) }), columns: ['id'] });
// @ts-expect-error -- there is no such kind
listing({ ...common, responses: { 404: 'skipp' }, columns: ['id'] });
// @ts-expect-error -- nobody waits for it
listing({ ...common, responses: () => Promise.resolve('skip'), columns: ['id'] });
// @ts-expect-error -- there is no such kind, for the whole API
defineApi({ name: 'other', responses: { 404: 'skipp' }, sources: {} });

const ofName = rowOf({ source: 'r', params: { repo: '{name}' } });
listing({ ...common, each: ofName, path: '/{repo}', version: '1', columns: ['id'] });
// @ts-expect-error -- the field is another parameter
listing({ ...common, each: ofName, path: '/{name}', version: '1', columns: ['id'] });
// @ts-expect-error -- a field is in braces
rowOf({ source: 'r', params: { repo: 'name' } });
