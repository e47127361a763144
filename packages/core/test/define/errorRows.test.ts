import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createClient } from '../../src/index.js';
import {
  byOffset,
  byPage,
  defineApi,
  graphqlErrors,
  listing,
  onePage,
  rowOf,
  type ListingDefinition,
  type Responses,
  type DocumentReader,
} from '../../src/define/index.js';
import { onTestEnd } from '../../../../scripts/testScope.js';
import { openListing, serve, type Said } from './servedApi.js';

type Definition = ListingDefinition<Record<string, unknown>, never, object> & { readonly path: string };

const common = { path: '/rows', paging: onePage(), columns: ['id', 'name'] } as const;
const good = [
  { id: 1, name: 'a' },
  { id: 2, name: 'b' },
];
const lines = (...rows: readonly unknown[]): Said => ({ text: rows.map((row) => `${JSON.stringify(row)}\n`).join('') });
const timeout = { error: { description: 'Operation timed out' } };

const schema = z.object({ id: z.number(), name: z.string() });
const defaults = z
  .object({ id: z.number().optional(), name: z.string().default('') })
  .transform(({ id, name }) => ({ id: String(id), name }));
const decode = (value: unknown, path: string, read: DocumentReader) => {
  const { uid, title = '' } = read.record(value, path);
  return { id: String(uid), name: String(title) };
};

describe('A3 what is not a row is refused, with what the API says', () => {
  test.each<[string, Definition, Said, string]>([
    [
      'the last line of JSON Lines',
      { ...common, format: 'jsonLines', rows: '', key: 'id' },
      lines(...good, timeout),
      'at [2]: row 3 lacks its key "id": it has "error". .* It says: "Operation timed out"',
    ],
    [
      'a line of rows without a key',
      { ...common, format: 'jsonLines', rows: '' },
      lines(...good, { message: 'shard 7 is away', code: 500 }),
      'row 3 has none of its columns: it has "message", "code". .* It says: "shard 7 is away"',
    ],
    [
      'an item of a list',
      { ...common, rows: 'data.items', key: 'id' },
      { body: { data: { items: [{ status: 500, errors: ['busy'] }, ...good] } } },
      'at data.items[0]: row 1 lacks its key "id": it has "status", "errors". .* It says: "busy"',
    ],
    ['an empty object', { ...common, rows: '' }, { body: [...good, {}] }, 'row 3 has none of its columns: it is empty'],
    [
      'one with only a part of its key',
      { ...common, rows: '', key: ['of', 'id'] },
      {
        body: [
          { of: 1, id: 2 },
          { of: 1, name: 'x', message: 'no access' },
        ],
      },
      'row 2 lacks its key "id": .* It says: "no access"',
    ],
    [
      'one whose key function makes text of nothing',
      { ...common, rows: '', key: ({ id }) => `row-${String(id)}` },
      { body: [...good, { name: 'c' }] },
      'row 3 lacks its key: it has "name"',
    ],
    [
      'one whose key function makes a list of nothing',
      { ...common, rows: '', key: ({ id, of }) => JSON.stringify([id, of]) },
      { body: [...good, { id: null, name: 'c' }] },
      'row 3 lacks its key: it has "id", "name"',
    ],
    [
      'one at which the key function fails',
      { ...common, rows: '', key: (row: { readonly ids: { readonly of: string } }) => row.ids.of } as never,
      { body: [{ id: 1, ids: { of: 'a' } }, timeout] },
      'row 2 lacks its key, since key returned undefined: .* "Operation timed out"',
    ],
    [
      'a member of a group',
      { ...common, rows: 'groups[*].members[*]', key: 'id' },
      { body: { groups: [{ members: good }, { members: [{ fault: 'no group' }] }] } },
      'row 3 lacks its key "id": it has "fault". .* "no group"',
    ],
    [
      'what a function of the response finds',
      { ...common, rows: ({ at }) => ({ rows: [at('one'), at('two')], at: '' }) },
      { body: { one: good[0], two: timeout } },
      'row 2 has none of its columns',
    ],
    [
      'what a parser makes of text',
      {
        ...common,
        version: '1',
        parse: (text: string) => text.split('\n').map((line) => Object.fromEntries([line.split(': ')])),
        rows: '',
        columns: ['id'],
      },
      { text: 'id: 1\nerror: broken pipe' },
      'row 2 has none of its columns: it has "error". .* "broken pipe"',
    ],
    [
      'what a schema refuses',
      { ...common, format: 'jsonLines', rows: '', schema, version: '1', key: 'id' },
      lines(...good, { message: 'the query was cancelled' }),
      'at [2].id: .* It says: "the query was cancelled"',
    ],
    [
      'what a schema makes of nothing by its defaults',
      { ...common, rows: '', schema: defaults, version: '1', key: 'id' },
      { body: [...good, timeout] },
      'row 3 lacks its key "id": it has "error". .* "Operation timed out"',
    ],
    [
      'what a decoder with other names makes of it',
      { ...common, rows: '', decode, version: '1' },
      { body: [{ uid: 7 }, timeout] },
      'row 2 has none of its columns: it has "error"',
    ],
    [
      'one that has only the added fields',
      { ...common, rows: '', columns: ['of', 'name'], fields: { of: 'a' } },
      { body: [...good, timeout] },
      'row 3 has none of its columns: it has "error"',
    ],
    [
      'one whose key has only the added fields',
      { ...common, rows: '', fields: { of: 'a' }, key: ({ of, id }) => `${String(of)}/${String(id)}` },
      { body: [...good, { name: 'c' }] },
      'row 3 lacks its key: it has "name"',
    ],
  ])('A3 %s', async (_what, definition, said, message) => {
    const { baseUrl, asked } = await serve(() => said);
    const rows: unknown[] = [];
    const failed = (async () => {
      for await (const row of openListing(listing(definition), { baseUrl })()) rows.push(row);
    })();
    await expect(failed).rejects.toMatchObject({
      code: 'decode',
      message: expect.stringMatching(new RegExp(message.replace(/[[\]]/g, '\\$&'))) as string,
    });
    expect([rows, asked.length]).toEqual([[], 1]);
  });

  test.each<[string, Definition, readonly object[]]>([
    ['a row with its key and none of its columns', { ...common, rows: '', key: 'of' }, [{ of: 1 }]],
    ['a row whose columns are null', { ...common, rows: '' }, [{ id: null, name: null }]],
    ['a row with one of its columns', { ...common, rows: '' }, [{ name: '' }]],
    ['a row with 0 for its key', { ...common, rows: '', key: 'id' }, [{ id: 0 }]],
    ['a row of any error, which is a column', { ...common, rows: '', columns: ['error'] }, [{ error: 'e', at: 1 }]],
    ['a row whose key is the same for all', { ...common, rows: '', key: () => 'status' }, [{ id: 1, error: null }]],
    ['a row whose key has a default', { ...common, rows: '', key: ({ of }) => String(of ?? 'none') }, [{ name: 'a' }]],
    ['a row named after nothing', { ...common, rows: '', key: ({ name }) => `of ${String(name)}` }, [{ name: 'Null' }]],
    [
      'a row of defaults',
      {
        ...common,
        rows: '',
        schema: z.object({ N: z.number().default(0) }).transform(({ N }) => ({ id: N, name: '' })),
        version: '1',
      },
      [{ N: 0 }],
    ],
    ['an empty row of added columns', { ...common, rows: '', columns: ['of'], fields: { of: 'a' } }, [{}]],
    ['a row with an added key', { ...common, rows: '', key: 'of', fields: { of: 'my null' } }, [{ name: 'a' }]],
  ])('%s is one', async (_what, definition, rows) => {
    const { baseUrl } = await serve(() => ({ body: rows }));
    expect(await openListing(listing(definition), { baseUrl })().toArray()).toHaveLength(rows.length);
  });

  test('R11 a row that a schema refuses is not quoted, whatever its names', async () => {
    const { baseUrl } = await serve(() => ({ body: [{ Text: 'hello', message: 'private', at: 'x' }] }));
    const renamed = schema.or(z.object({ Text: z.string(), at: z.number() }));
    const items = listing({ ...common, rows: '', schema: renamed as never, version: '1' });
    const failed: unknown = await openListing(items, { baseUrl })()
      .toArray()
      .catch((error: unknown) => error);
    expect(String(failed)).toContain('of an unexpected shape at [0]');
    expect(String(failed)).not.toContain('private');
  });

  test('T2 A3 what a row says is redacted', async () => {
    const { baseUrl } = await serve(() => lines(...good, { error: 'the key test-key-1 has expired' }));
    const items = listing({ ...common, format: 'jsonLines', rows: '' });
    await expect(openListing(items, { baseUrl })().toArray()).rejects.toThrow(
      'It says: "the key [hidden] has expired"',
    );
  });

  test('A3 a child whose listing has an error in its last line', async () => {
    const { baseUrl } = await serve((url) =>
      url.pathname.endsWith('/repos')
        ? { body: [{ name: 'a' }, { name: 'b' }] }
        : lines({ id: 1 }, { reason: 'archived' }),
    );
    const client = createClient({ apiKey: false, rateLimit: false, retry: { retries: 0 } }).use(
      defineApi({
        name: 'forge',
        baseUrl,
        sources: {
          repos: listing({ ...common, path: '/repos', rows: '', columns: ['name'], key: 'name' }),
          issues: listing({
            ...common,
            each: rowOf({ source: 'repos', params: { repo: '{name}' } }),
            path: '/repos/{repo}/issues',
            fields: { repo: '{repo}' },
            format: 'jsonLines',
            rows: '',
            columns: ['repo', 'id'],
          }),
        },
      })(),
    );
    onTestEnd(() => client.close());
    await expect(client.forge.issues().toArray()).rejects.toThrow(
      /row 2 has none of its columns: it has "reason"\. .* It says: "archived"/,
    );
  });
});

/** A walk whose nth request gets the nth of these, and the number of its requests. */
async function walked(
  said: readonly Said[],
  options: { responses?: Responses; ofApi?: Responses; definition?: Partial<Definition> },
) {
  const { baseUrl, asked } = await serve((_url, nth) => said[nth - 1] ?? said.at(-1) ?? {});
  const { responses, ofApi, definition = { format: 'jsonLines' } } = options;
  const items = listing({
    ...common,
    rows: '',
    key: 'id',
    ...(responses && { responses }),
    ...definition,
  } as Definition);
  const api = defineApi({ name: 'lines', baseUrl, ...(ofApi && { responses: ofApi }), sources: { items } });
  const client = createClient({ apiKey: false, rateLimit: false, retry: { baseDelay: 1 } }).use(api());
  onTestEnd(() => client.close());
  const rows: unknown[] = [];
  let isIncomplete = false;
  for await (const page of client.lines.items().pages()) {
    rows.push(...page.items);
    isIncomplete ||= page.isIncomplete ?? false;
  }
  return { rows, isIncomplete, requests: asked.length };
}

describe('R1 responses of a document that is a list', () => {
  const broken = lines(...good, timeout);

  test.each<[string, Parameters<typeof walked>[1]]>([
    ['the listing', { responses: { 'error.description~TIMED': 'retry' } }],
    ['the API', { ofApi: { 'error.description~timed': { kind: 'rate-limited', retryAfter: 1 } } }],
    [
      'the API, after a function of the listing',
      { responses: () => undefined, ofApi: { 'error.description~timed': 'retry' } },
    ],
    ['the listing, about any item', { responses: { '[*].error.description~timed': 'retry' } }],
    ['the listing, about one item', { responses: { '[2].error.description~timed': 'retry' } }],
    [
      'the listing, with a schema',
      {
        responses: { 'error.description~timed': 'retry' },
        definition: { format: 'jsonLines', rows: '', schema, version: '1' },
      },
    ],
    ['the listing, of a list', { responses: { 'error.description~timed': 'retry' }, definition: { rows: '' } }],
  ])('R1 a line that is not a row is retried by what %s says', async (_whose, options) => {
    const asList = options.definition && !('format' in options.definition);
    const said = asList ? [{ body: [...good, timeout] }, { body: good }] : [broken, lines(...good)];
    expect(await walked(said, options)).toEqual({ rows: good, isIncomplete: false, requests: 2 });
  });

  test('R1 a row is not what they are about, though it has the field', async () => {
    const jobs = [{ id: 1, name: 'a', status: 'failed', message: 'timed out' }];
    const responses = { 'status=failed': 'final', 'message~timed': 'retry' } as const;
    const done = { rows: jobs, isIncomplete: false, requests: 1 };
    expect(await walked([lines(...jobs)], { responses })).toEqual(done);
    expect(await walked([lines(...jobs)], { ofApi: responses })).toEqual(done);
    expect(await walked([{ body: jobs }], { responses, definition: { rows: '' } })).toEqual(done);
    const definition: Partial<Definition> = {
      columns: ['name'],
      decode: (value) => ({ id: 1, name: Reflect.get(Object(value) as object, 'message') }),
      version: '1',
    };
    const other = [{ message: 'timed out' }];
    expect(await walked([{ body: other }], { responses, definition })).toEqual({
      ...done,
      rows: [{ id: 1, name: 'timed out' }],
    });
  });

  test.each<[string, Definition['rows']]>([
    ['a path', '[*].record'],
    [
      'a function',
      ({ body }) => ({
        rows: Object.values(body as object).map((line: object) => Reflect.get(line, 'record')),
        at: '',
      }),
    ],
  ])('R1 lines that have their rows at %s are no errors', async (_where, rows) => {
    const kept = good.map((record) => ({ type: 'record', message: 'timed out', record }));
    const responses = { 'message~timed': 'retry' } as const;
    const definition = { format: 'jsonLines', rows } as const;
    const whole = { rows: good, isIncomplete: false };
    expect(await walked([lines(...kept)], { responses, definition })).toEqual({ ...whole, requests: 1 });
    const last = lines(...kept, { type: 'error', message: 'it timed out' });
    expect(await walked([last, lines(...kept)], { responses, definition })).toEqual({ ...whole, requests: 2 });
    if (typeof rows === 'string') await expect(walked([last], { definition })).rejects.toThrow('"it timed out"');
  });

  test.each(['partial', 'end'] as const)('R1 the rows before a line that means %s are used', async (kind) => {
    const { rows, isIncomplete } = await walked([broken], { responses: { 'error.description~timed': kind } });
    expect({ rows, isIncomplete }).toEqual({ rows: good, isIncomplete: true });
  });

  test('R1 a final line is quoted', async () => {
    await expect(walked([broken], { responses: { 'error.description~timed': 'final' } })).rejects.toMatchObject({
      code: 'http',
      message: expect.stringContaining('Operation timed out') as string,
    });
  });

  test('R1 what it says is quoted behind a long list, too', async () => {
    const many = Array.from({ length: 500 }, (_, id) => ({ id: String(id), name: 'a'.repeat(20) }));
    const last = lines(...many, { error: { description: 'Operation timed out' } });
    const responses = { 'error.description~timed': 'final' } as const;
    await expect(walked([last], { responses })).rejects.toThrow('Operation timed out');
  });
});

describe('R1 a path of responses', () => {
  const rows = { rows: 'items' };
  const ok = { body: { items: good, error: [], errors: [] } };

  test.each<[string, object]>([
    ['error~Rate limit', { error: ['EGeneral:ok', 'EAPI:Rate limit exceeded'] }],
    ['error[*]~rate LIMIT', { error: ['EGeneral:ok', 'EAPI:Rate limit exceeded'] }],
    ['error[1]~rate limit', { error: ['EGeneral:ok', 'EAPI:Rate limit exceeded'] }],
    ['error=busy', { error: ['idle', 'busy'] }],
    ['errors[*].code=17', { errors: [{ code: 3 }, { code: 17 }] }],
    ['errors.code=17', { errors: [{ code: 3 }, { code: 17 }] }],
    ['errors[1].codes[*]=17', { errors: [{}, { codes: [3, 17] }] }],
    ['errors[*].causes[*].text~full', { errors: [{ causes: [] }, { causes: [{ text: 'disk full' }] }] }],
    ['errors.causes.text~full', { errors: [{ causes: [] }, { causes: [{ text: 'disk full' }] }] }],
    ['errors[*]~taken', { errors: { name: ['is empty'], email: ['is taken'] } }],
    ["['@odata.error'].code=busy", { '@odata.error': { code: 'busy' } }],
    ['result?.state=busy', { result: { state: 'busy' } }],
    ['result=null', { result: null }],
    ['ok=false', { ok: [true, false] }],
  ])('R1 %s matches %j', async (entry, body) => {
    const { requests } = await walked([{ body: { items: good, ...body } }, ok], {
      responses: { [entry]: 'retry' } as Responses,
      definition: rows,
    });
    expect(requests).toBe(2);
  });

  test.each<[string, object]>([
    ['error[0]~Rate limit', { error: ['EGeneral:ok', 'EAPI:Rate limit exceeded'] }],
    ['error[*]=busy', { error: 'busy' }],
    ['error=bus', { error: ['busy'] }],
    ['errors[2].code=17', { errors: [{ code: 17 }, [{ code: 17 }]] }],
    ['errors.code=17', { errors: [{ codes: 17 }] }],
    ['items.constructor~native', {}],
  ])('R1 %s does not match %j', async (entry, body) => {
    const { requests } = await walked([{ body: { items: good, ...body } }], {
      responses: { [entry]: 'retry' } as Responses,
      definition: rows,
    });
    expect(requests).toBe(1);
  });

  test.each([
    'ok!=true',
    'ok == true',
    'ok = true',
    'code>=500',
    'error=~busy',
    'error~=busy',
    'a..b=1',
    'error[x]=1',
    "a['b=1",
    'error[*=1',
  ])('R1 %s is refused, since nothing would match', (entry) => {
    expect(() => listing({ ...common, rows: '', responses: { [entry]: 'retry' } as Responses })).toThrow(
      /is not a status .* nor a field with its value, e\.g\. 'error\.code=busy', with a text in it, 'message~too many', or of any item/,
    );
  });
});

describe('R11 an error in the place of the rows is not an empty listing', () => {
  const first = { items: good };

  test.each<[string, string, object]>([
    ['an optional list is missing', 'items?', { error: 'quota exceeded' }],
    ['an optional list is missing beside a message', 'items?', { message: 'quota exceeded', ok: false }],
    ['it is null', 'data?.items?', { data: null, errors: [{ message: 'quota exceeded' }] }],
    ['it is empty', 'items', { items: [], error: { code: 429, message: 'quota exceeded' } }],
    ['an item of a list has an error', 'groups[*].items?[*]', { groups: [{ items: [] }, { error: 'quota exceeded' }] }],
  ])('R11 %s', async (_what, rows, body) => {
    const { baseUrl } = await serve(() => ({ body }));
    const items = listing({ ...common, rows });
    await expect(openListing(items, { baseUrl })().toArray()).rejects.toMatchObject({
      code: 'decode',
      message: expect.stringMatching(
        /it has an error, and no rows\. Say in `responses` .* says: ".*quota exceeded"/,
      ) as string,
    });
  });

  test('R11 a page in the middle does not end the listing', async () => {
    const { baseUrl } = await serve((url) =>
      url.searchParams.get('page') === '2' ? { body: { items: [], error: 'shard 7 is away' } } : { body: first },
    );
    const items = listing({ ...common, rows: 'items', paging: byPage({ param: 'page' }), until: 'no-rows' });
    await expect(openListing(items, { baseUrl })().toArray()).rejects.toThrow('"shard 7 is away"');
  });

  test.each<[string, string, object]>([
    ['nothing is wrong', 'items?', { error: null, errors: [], message: 'OK', code: 200 }],
    ['it counts errors', 'items', { items: [], errors: 0, errorCount: 3, error_rate: 0.5 }],
    ['it has a message beside an empty list', 'items', { items: [], message: 'no rows today' }],
    ['it has a warning', 'items?', { warnings: ['deprecated'] }],
    ['it is empty', 'items?', {}],
    ['a group has none', 'groups[*].items?[*]', { groups: [{ name: 'a', message: 'closed' }] }],
  ])('a listing is empty where %s', async (_what, rows, body) => {
    const { baseUrl } = await serve(() => ({ body }));
    expect(await openListing(listing({ ...common, rows }), { baseUrl })().toArray()).toEqual([]);
  });

  test('R11 a definition can say what such a response means', async () => {
    const none: Said = { body: { error: 'nothing found' } };
    const definition = { rows: 'items?' };
    const said = (kind: 'ok' | 'end' | 'partial') =>
      walked([none], { responses: { 'error~nothing found': kind }, definition });
    expect(await said('ok')).toMatchObject({ rows: [], isIncomplete: false });
    expect(await said('end')).toMatchObject({ rows: [], isIncomplete: true });
    expect(await said('partial')).toMatchObject({ rows: [], isIncomplete: true });
    const nodes: Partial<Definition> = {
      method: 'POST',
      body: {},
      rows: 'data.all.nodes',
      responses: graphqlErrors({ allowPartial: true }),
    };
    const body = { data: { all: { nodes: [null, good[0]] } }, errors: [{ message: 'a node failed' }] };
    expect(await walked([{ body }], { definition: nodes })).toMatchObject({ rows: [good[0]], isIncomplete: true });
  });
});

describe('A6 a listing with parents', () => {
  const definition = {
    each: rowOf({ source: 'repos', params: { repo: '{name}' } }),
    path: '/repos/{repo}/issues',
    query: { state: 'open' },
    fields: { repo: '{repo}' },
    paging: byOffset({ param: 'offset' }),
    rows: 'items',
    columns: ['id'],
  } as const;

  test('needs no version if templates say it all', () => {
    expect(() => listing(definition)).not.toThrow();
    expect(() => listing({ ...definition, headers: { 'X-Repo': '{repo}' }, partitions: { of: ['a'] } })).not.toThrow();
  });

  test.each<[string, object]>([
    ['params of rowOf()', { each: rowOf({ source: 'repos', params: () => ({ repo: 'a' }) }) }],
    ['query', { query: () => ({}) }],
    ['body', { method: 'POST', query: undefined, body: () => ({}) }],
    ['headers', { headers: () => ({}) }],
    ['partitions', { partitions: () => [{ of: 1 }] }],
    ['fields', { fields: () => ({}) }],
  ])('needs one if %s is a function', (option, change) => {
    expect(() => listing({ ...definition, ...change } as never)).toThrow(
      option === 'fields' ? /give one, e\.g\. '1'/ : `each needs one, e.g. '1', since ${option} is a function`,
    );
  });
});
