import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import ts from 'typescript';
import { describe, expect, test } from 'vitest';
import { onTestEnd } from '../../../scripts/testScope.js';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';
import { configFolder, run } from './config/configFolder.js';

interface Answer {
  readonly status?: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An API on a free port; `answer` gets the query and the request. */
async function serve(
  answer: (query: URLSearchParams, request: IncomingMessage, origin: string) => Answer,
): Promise<string> {
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', origin);
    const { status = 200, body, headers = {} } = answer(url.searchParams, request, origin);
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify(body));
  });
  let origin = '';
  await once(server.listen(0, '127.0.0.1'), 'listening');
  origin = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
  onTestEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  return origin;
}

const rows = Array.from({ length: 7 }, (_, nth) => ({
  id: `r${nth}`,
  size: nth,
  at: '2026-01-02T03:04:05Z',
  tags: ['a'],
}));
const page = (query: URLSearchParams, first: number): unknown[] =>
  rows.slice(first, first + Number(query.get('limit') ?? 3));

/** What `sluice new` wrote, and all rows that its source then exports. */
async function draft(address: string, more: readonly string[] = []) {
  const folder = configFolder({});
  const made = await run(['new', 'shop', '--from', address, ...more], folder);
  expect(made).toMatchObject({ code: 0, stdout: '' });
  const text = readFileSync(join(folder, 'shop.ts'), 'utf8');
  const exported = await run(
    ['export', 'shop.items', '--to', '-', '--format', 'jsonl', '--rate', 'unlimited'],
    folder,
    {
      SHOP_TOKEN: 'secret-token',
      SHOP_KEY: 'secret-key',
    },
  );
  const ids = exported.stdout.split('\n').flatMap((line) => (line === '' ? [] : [String(JSON.parse(line).id)]));
  return { ...made, text, folder, exported, ids };
}

const intercom = { pages: { type: 'pages', next: { page: 2, starting_after: 'abc' }, page: 1 } };
const all = rows.map(({ id }) => id);

describe('U7 sluice new drafts a definition from one response', () => {
  test('whose Link header has the next page', { tags: ['slow'] }, async () => {
    const origin = await serve((query, _, origin) => {
      const at = Number(query.get('page') ?? 1);
      const next = at < 3 ? { link: `<${origin}/v1/items?page=${at + 1}&limit=3>; rel="next"` } : {};
      return { body: page(query, (at - 1) * 3), headers: next };
    });
    const { text, ids } = await draft(`${origin}/v1/items?limit=3`);
    expect(text).toContain('paging: byLink(),');
    expect(text).toContain(`baseUrl: '${origin}/v1/',`);
    expect(text).toContain("pageSize: { param: 'limit', default: 3 },");
    expect(text).toContain("types: { size: 'integer', at: 'timestamp', tags: 'json' },");
    expect(ids).toEqual(all);
  });

  test('with the slash at the end of its address, and a parameter that it repeats', async () => {
    const asked: (string | undefined)[] = [];
    const origin = await serve((query, { url }) => {
      asked.push(url);
      return { body: query.getAll('tag').join() === 'a b,c' ? page(query, 0) : [] };
    });
    const { ids } = await draft(`${origin}/api/items/?tag=a+b&tag=c&limit=3`);
    expect(ids).toEqual(all.slice(0, 3));
    expect(asked.map((url) => new URL(url ?? '', origin).pathname)).toEqual(['/api/items/', '/api/items/']);
  });

  test('that has the address of the next page under a name with a dot', async () => {
    const origin = await serve((query, _, origin) => {
      const at = Number(query.get('$skip') ?? 0);
      return {
        body: {
          value: page(query, at),
          ...(at + 3 < rows.length && { '@odata.nextLink': `${origin}/items?$skip=${at + 3}` }),
        },
      };
    });
    const { text, ids } = await draft(`${origin}/items`);
    expect(text).toContain("paging: byLink({ at: '[\\'@odata.nextLink\\']?' }),");
    expect(ids).toEqual(all);
  });

  test('that has a cursor, and says whether there is more', async () => {
    const origin = await serve((query) => {
      const at = Number(query.get('cursor') ?? 0);
      const hasMore = at + 3 < rows.length;
      return {
        body: {
          data: { items: page(query, at) },
          meta: { has_more: hasMore, next_cursor: hasMore ? String(at + 3) : null },
        },
      };
    });
    const { text, stderr, ids } = await draft(`${origin}/api/v2/items?limit=3&color=red`);
    expect(text).toContain("query: { color: 'red' },");
    expect(text).toContain('// guess: whether the parameter of a next page is cursor, is not known');
    expect(text).toContain("paging: byCursor({ param: 'cursor', at: 'meta?.next_cursor?', more: 'meta.has_more' }),");
    expect(text).toContain("rows: 'data.items',");
    expect(stderr).toMatch(
      /^Wrote shop\.ts: shop\.items, with \d guesses to check\. sluice\.config\.json uses it\.\nNext: /,
    );
    expect(ids).toEqual(all);
  });

  // Each with the rows behind `at`, of which the last page differs from what the draft was made of.
  test.each<[string, string, (at: number, isLast: boolean, origin: string) => object]>([
    [
      "byCursor({ param: 'after', at: 'paging?.next?.after?' })",
      'after',
      (at, isLast) => (isLast ? {} : { paging: { next: { after: String(at) } } }),
    ],
    [
      "byLink({ at: 'links?.next?', more: 'meta.has_more' })",
      'after',
      (at, isLast, origin) => ({ meta: { has_more: !isLast }, links: { next: `${origin}/items?after=${at}` } }),
    ],
    [
      "byLink({ at: 'after_url?', last: 'end_of_stream' })",
      'after',
      (at, isLast, origin) => ({ after_url: `${origin}/items?after=${at}`, end_of_stream: isLast }),
    ],
    [
      "byLink({ at: 'next_page?.uri?' })",
      'after',
      (at, isLast, origin) => ({
        next_page: isLast ? null : { path: `/rows?after=${at}`, uri: `${origin}/items?after=${at}` },
      }),
    ],
    ["byCursor({ param: 'offset', at: 'offset?' })", 'offset', (at, isLast) => (isLast ? {} : { offset: `${at}/rec` })],
  ])('whose last page says so: %s', async (paging, param, nextOf) => {
    const origin = await serve((query) => {
      const at = Number.parseInt(query.get(param) ?? '0', 10);
      const next = nextOf(at + 3, at + 3 >= rows.length, origin);
      return { body: { items: page(query, at), ...next } };
    });
    const { text, ids } = await draft(`${origin}/items?limit=3`);
    expect(text).toContain(`paging: ${paging},`);
    expect(ids).toEqual(all);
  });

  test('that counts the rows of the page, and those of the listing', async () => {
    const origin = await serve((query) => {
      const at = (Number(query.get('page') ?? 1) - 1) * 3;
      return { body: { items: page(query, at), info: { total_pages: 3, count: 3, total_count: rows.length } } };
    });
    const { text, ids } = await draft(`${origin}/items`);
    expect(text).toContain("total: 'info.total_count?',");
    expect(ids).toEqual(all);
  });

  test('that has the offset of the next page', async () => {
    const origin = await serve((query) => {
      const at = Number(JSON.parse(query.get('offset') ?? '[0]')[0]);
      return { body: { items: page(query, at), ...(at + 3 < rows.length && { next_offset: `[${at + 3}]` }) } };
    });
    const { text, ids } = await draft(`${origin}/items?limit=3`);
    expect(text).toContain("paging: byCursor({ param: 'offset', at: 'next_offset?' }),");
    expect(ids).toEqual(all);
  });

  test('that has page numbers, and a total', async () => {
    const origin = await serve((query) => {
      const at = Number(query.get('page') ?? 1);
      return { body: { items: page(query, (at - 1) * 3), page: at, total_pages: 3, total: rows.length } };
    });
    const { text, ids } = await draft(`${origin}/items?page=1`);
    expect(text).toContain("paging: byPage({ param: 'page', pages: 'total_pages' }),");
    expect(text).toContain("total: 'total?',");
    expect(ids).toEqual(all);
  });

  test('that has offsets', async () => {
    const origin = await serve((query) => ({ body: { items: page(query, Number(query.get('offset') ?? 0)) } }));
    const { text, ids } = await draft(`${origin}/items?offset=0&limit=2`);
    expect(text).toContain("paging: byOffset({ param: 'offset' }),");
    expect(ids).toEqual(all);
  });

  test('that only says that there is more, as where the last id is the cursor', async () => {
    const origin = await serve((query) => {
      const at = all.indexOf(query.get('starting_after') ?? '') + 1;
      return { body: { data: page(query, at), has_more: at + 3 < rows.length } };
    });
    const { text, ids } = await draft(`${origin}/items`);
    expect(text).toContain("paging: byKeyset([{ field: 'id', param: 'starting_after' }], { more: 'has_more' }),");
    expect(ids).toEqual(all);
  });

  test.each([{}, { timezone: 'Europe/Zurich', offset: '+02:00' }])('that shows no next page: %j', async (beside) => {
    const origin = await serve(() => ({ body: { items: rows, ...beside } }));
    const { text, ids } = await draft(`${origin}/items`);
    expect(text).toContain('// guess: nothing shows how the listing continues\n      paging: onePage(),');
    expect(ids).toEqual(all);
  });

  test.each([
    ['continue', (at: string) => ({ continue: { rccontinue: at, continue: '-||' } })],
    ['query-continue', (at: string) => ({ 'query-continue': { rccontinue: at } })],
  ])('that has the parameters of the next page at %s', async (path, at) => {
    const asked: string[] = [];
    const origin = await serve((query, { url }) => {
      asked.push(url ?? '');
      const from = Number(query.get('rccontinue') ?? 0);
      return { body: { query: { rows: page(query, from) }, ...(from + 3 < rows.length && at(String(from + 3))) } };
    });
    const { text, ids } = await draft(`${origin}/items?action=query&limit=3`);
    expect(text).toContain(`// guess: the parameters of the next page seem to be those at ${path}`);
    expect(text).toContain(`paging: byLink({ at: ({ at }) => { const next = at('${path}?');`);
    expect(ids).toEqual(all);
    expect(asked.slice(1).every((url) => url.includes('action=query') && url.includes('limit=3'))).toBe(true);
  });

  test.each<[string, string, object]>([
    ["byCursor({ param: 'scroll_id', at: 'scroll_id?' })", 'scroll_id', { scroll_id: 'abc' }],
    ["byCursor({ param: 'bookmark', at: 'bookmark?' })", 'bookmark', { bookmark: 'abc' }],
    ["byCursor({ param: 'starting_after', at: 'pages?.next?.starting_after?' })", '', intercom],
    ['onePage()', 'LastEvaluatedKey.id may be where a next page begins', { LastEvaluatedKey: { id: 'r2' } }],
    ['onePage()', 'continuation.row may be where a next page begins', { continuation: { row: 'r2' } }],
  ])('that has where the next page begins: %s', async (paging, why, beside) => {
    const origin = await serve((query) => ({ body: { items: page(query, 0), ...beside } }));
    const { text } = await draft(`${origin}/items?limit=3`);
    expect(text).toContain(`paging: ${paging},`);
    expect(text).toContain(why);
    expect(text).not.toContain('nothing shows how the listing continues');
  });

  test('with credentials, which it names and never writes', async () => {
    const seen: unknown[] = [];
    const origin = await serve((query, { headers }) => {
      seen.push([query.get('api_key'), headers.authorization, headers['x-shop-version']]);
      return { body: { items: rows } };
    });
    const folder = configFolder({ 'headers.txt': 'Authorization: Bearer secret-token\nX-Shop-Version: 7\n' });
    const made = await run(
      ['new', 'shop', '--from', `${origin}/items?api_key=secret-key`, '--header-file', 'headers.txt'],
      folder,
    );
    const text = readFileSync(join(folder, 'shop.ts'), 'utf8');
    expect(seen).toEqual([['secret-key', 'Bearer secret-token', '7']]);
    expect(text).toContain("auth: [queryKey('api_key', { env: 'SHOP_KEY' }), bearer({ env: 'SHOP_TOKEN' })],");
    expect(text).toContain("headers: { 'X-Shop-Version': '7' },");
    expect(`${text}${made.stdout}${made.stderr}`).not.toMatch(/secret-/);
  });

  test.each([
    [
      'Authorization: Basic bWU6c2VjcmV0',
      "auth: basic({ user: { env: 'SHOP_USER' }, password: { env: 'SHOP_PASSWORD' } }),",
    ],
    [
      'Authorization: Shop-API-Key secret-key',
      "auth: header('Authorization', { env: 'SHOP_KEY' }, { prefix: 'Shop-API-Key ' }),",
    ],
    ['revision: 2026-01-31', "headers: { revision: '2026-01-31' },"],
  ])('with the header %j', async (header, expected) => {
    const origin = await serve(() => ({ body: { items: rows } }));
    const folder = configFolder({ 'headers.txt': `${header}\n` });
    const made = await run(['new', 'shop', '--from', `${origin}/items`, '--header-file', 'headers.txt'], folder);
    const text = readFileSync(join(folder, 'shop.ts'), 'utf8');
    expect(text).toContain(expected);
    expect(`${text}${made.stdout}${made.stderr}`).not.toMatch(/secret|bWU6/);
  });
});

const openApi = {
  openapi: '3.1.0',
  servers: [{ url: 'https://{region}.example.com/v3', variables: { region: { default: 'eu' } } }],
  components: {
    securitySchemes: { main: { type: 'http', scheme: 'bearer' } },
    schemas: {
      Order: {
        allOf: [
          { type: 'object', properties: { id: { type: 'integer' } } },
          {
            type: 'object',
            properties: { placed_at: { type: 'string', format: 'date-time' }, note: { type: ['string', 'null'] } },
          },
        ],
      },
      Page: {
        type: 'object',
        properties: {
          orders: { type: 'array', items: { $ref: '#/components/schemas/Order' } },
          next_page_token: { type: 'string' },
          total_count: { type: 'integer' },
        },
      },
    },
    parameters: { size: { name: 'page_size', in: 'query', schema: { type: 'integer', default: 50, maximum: 200 } } },
  },
  paths: {
    '/shops/{shop-id}/orders': {
      get: {
        summary: 'Orders of a shop.\nMore.',
        parameters: [
          { $ref: '#/components/parameters/size' },
          { name: 'page_token', in: 'query', schema: { type: 'string' } },
          { name: 'state', in: 'query', required: true, schema: { type: 'string' } },
        ],
        responses: { 200: { content: { 'application/json': { schema: { $ref: '#/components/schemas/Page' } } } } },
      },
    },
    '/status': { get: { responses: { 200: { content: { 'application/json': { schema: { type: 'object' } } } } } } },
  },
};

describe('U7 sluice new drafts a definition from an OpenAPI description', () => {
  test('with a listing for each list of objects', async () => {
    const folder = configFolder({ 'openapi.json': JSON.stringify(openApi) });
    expect(await run(['new', 'shop', '--from', 'openapi.json'], folder)).toMatchObject({ code: 0 });
    const text = readFileSync(join(folder, 'shop.ts'), 'utf8');
    expect(text).toContain("baseUrl: 'https://eu.example.com/v3',");
    expect(text).toContain("auth: bearer({ env: 'SHOP_TOKEN' }),");
    expect(text).toContain("description: 'Orders of a shop.',");
    expect(text).toContain("pageSize: { param: 'page_size', default: 50, max: 200 },");
    expect(text).toContain("paging: byCursor({ param: 'page_token', at: 'next_page_token?' }),");
    expect(text).toContain("columns: ['id', 'placed_at', 'note'],");
    expect(text).toContain("types: { id: 'integer', placed_at: 'timestamp' },");
    expect(text).toContain("path: '/shops/{shop_id}/orders',");
    expect(text).toContain("query: { state: '{state}' },");
    const { stdout } = await run(['sources', 'shop.orders'], folder);
    expect(stdout).toMatch(/shop_id[^]*state/);
  });

  const text = { type: 'string' };
  test.each<[string, readonly string[], object, string | undefined]>([
    // Django REST framework.
    [
      "byLink({ at: 'next?' })",
      ['page'],
      { count: { type: 'integer', example: 123 }, next: { ...text, nullable: true, format: 'uri' } },
      "total: 'count?'",
    ],
    [
      "byLink({ at: 'links?.next?', more: 'meta.has_more' })",
      [],
      {
        meta: { properties: { has_more: { type: 'boolean' }, after_cursor: text } },
        links: { properties: { prev: text, next: text } },
      },
      undefined,
    ],
    // Slack, where the token is the credential.
    [
      "byCursor({ param: 'cursor', at: 'response_metadata?.next_cursor?' })",
      ['token', 'cursor'],
      { response_metadata: { properties: { next_cursor: text } } },
      undefined,
    ],
    [
      "byOffset({ param: 'startAt' })",
      ['startAt'],
      { startAt: { type: 'integer' }, total: { type: 'integer' } },
      "total: 'total?'",
    ],
  ])('with what its fields say of pages: %s', async (paging, params, properties, total) => {
    const items = { type: 'array', items: { properties: { id: text } } };
    const get = {
      parameters: params.map((name) => ({ name, in: 'query', schema: text })),
      responses: { 200: { content: { 'application/json': { schema: { properties: { items, ...properties } } } } } },
    };
    const described = { openapi: '3.0.0', servers: [{ url: 'https://api.example.com' }], paths: { '/items': { get } } };
    const folder = configFolder({ 'openapi.json': JSON.stringify(described) });
    const { stdout } = await run(['new', 'shop', '--from', 'openapi.json', '--to', '-'], folder);
    expect(stdout).toContain(`paging: ${paging},`);
    expect(/total: .*(?=,)/.exec(stdout)?.[0]).toBe(total);
  });

  test('of Swagger 2, from stdin, to stdout', async () => {
    const swagger = {
      swagger: '2.0',
      host: 'api.example.com',
      basePath: '/v1',
      securityDefinitions: { key: { type: 'apiKey', in: 'query', name: 'api_key' } },
      definitions: { Pet: { type: 'object', properties: { id: { type: 'integer' }, name: { type: 'string' } } } },
      paths: {
        '/pets': {
          get: {
            parameters: [
              { name: 'offset', in: 'query', type: 'integer' },
              { name: 'limit', in: 'query', type: 'integer', maximum: 30 },
            ],
            responses: { 200: { schema: { type: 'array', items: { $ref: '#/definitions/Pet' } } } },
          },
        },
      },
    };
    const folder = configFolder({ 'swagger.json': JSON.stringify(swagger) });
    const { stdout } = await run(['new', 'zoo', '--from', 'swagger.json', '--to', '-'], folder);
    expect(stdout).toContain("baseUrl: 'https://api.example.com/v1',");
    expect(stdout).toContain("auth: queryKey('api_key', { env: 'ZOO_KEY' }),");
    expect(stdout).toContain("pageSize: { param: 'limit', default: 30, max: 30 },");
    expect(stdout).toContain("paging: byOffset({ param: 'offset' }),");
    expect(stdout).toContain("rows: '',");
  });

  test.each([
    [
      'has a login',
      [{ url: 'https://ann:secret-of-ann@api.example.com/v1?key=secret#top' }],
      "'https://api.example.com/v1'",
    ],
    ['is not said', [], "'https://api.example.com/'"],
    ['is relative to that of the description', [{ url: '/v1' }], "'https://api.example.com/'"],
  ])('whose address %s', async (_, servers, expected) => {
    const folder = configFolder({ 'openapi.json': JSON.stringify({ ...openApi, servers }) });
    const { stdout } = await run(['new', 'shop', '--from', 'openapi.json', '--to', '-'], folder);
    expect(stdout).toContain(`  baseUrl: ${expected},\n`);
    expect(stdout.includes('// guess: the description does not say where the API is')).toBe(expected.endsWith("/'"));
    expect(stdout).not.toContain('secret');
  });

  test('whose schemas are parts of themselves, and have names with a percent sign', async () => {
    const self = { $ref: '#/components/schemas/Order' };
    const schema = { type: 'array', items: { $ref: '#/components/schemas/100%' } };
    const folder = configFolder({
      'openapi.json': JSON.stringify({
        openapi: '3.1.0',
        paths: { '/orders': { get: { responses: { 200: { content: { 'application/json': { schema } } } } } } },
        components: {
          schemas: {
            Order: { allOf: Array.from({ length: 20 }, () => self), oneOf: [self] },
            '100%': { allOf: [self, { type: 'object', properties: { id: { type: 'integer' } } }] },
          },
        },
      }),
    });
    const { stdout } = await run(['new', 'shop', '--from', 'openapi.json', '--to', '-'], folder);
    expect(stdout).toContain("columns: ['id'],");
  });

  test('only of the paths that were asked for', async () => {
    const folder = configFolder({ 'openapi.json': JSON.stringify(openApi) });
    const { code, stderr } = await run(['new', 'shop', '--from', 'openapi.json', '--paths', '/orders'], folder);
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringContaining('has no listing at "/orders". It has /shops/{shop_id}/orders.'),
    });
  });
});

describe('U7 sluice new refuses', () => {
  test.each([
    ['nothing to draft from', [], 'Give --from URL, or --from openapi.json.'],
    ['a file that is not there', ['--from', 'gone.json'], "can't be read: it is not there."],
    ['YAML', ['--from', 'openapi.yaml'], 'is not JSON. If it is YAML, convert it first.'],
    ['a description without a list', ['--from', 'empty.json'], 'has no GET whose response is a list of objects.'],
  ])('%s', async (_, args, message) => {
    const folder = configFolder({
      'openapi.yaml': 'openapi: 3.0.0',
      'empty.json': '{ "openapi": "3.0.0", "paths": {} }',
    });
    const { code, stderr } = await run(['new', 'shop', ...args], folder);
    expect(code).toBeGreaterThan(0);
    expect(stderr).toContain(message);
  });

  test('the name of an API that is built in, which no configuration may have', async () => {
    const { code, stderr } = await run(['new', 'streams', '--from', 'openapi.json'], configFolder({}));
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: 'sluice: streams is the name of an API that sluice itself brings along. Give another one.\n',
    });
  });

  test('a response without rows', async () => {
    const origin = await serve(() => ({ body: { items: [] } }));
    const { code, stderr } = await run(['new', 'shop', '--from', `${origin}/items`], configFolder({}));
    expect(code).toBe(1);
    expect(stderr).toContain('has no list of objects with at least one row.');
  });

  test('to overwrite a definition', async () => {
    const origin = await serve(() => ({ body: { items: rows } }));
    const folder = configFolder({ 'shop.ts': '// mine' });
    const { code } = await run(['new', 'shop', '--from', `${origin}/items`], folder);
    expect(code).toBe(1);
    expect(readFileSync(join(folder, 'shop.ts'), 'utf8')).toBe('// mine');
  });
});

test('U7 what sluice new writes compiles', { tags: ['slow'] }, async () => {
  const origin = await serve((query) => ({
    body: { "it's": page(query, 0), "a'b\\": { next: '/x?y=1' }, total: 7 },
    headers: { 'x-total-pages': '3' },
  }));
  const wiki = await serve((query) => ({
    body: { rows: page(query, 0), continue: { rccontinue: 'a', continue: '-||' } },
  }));
  const folder = configFolder({
    'openapi.json': JSON.stringify(openApi),
    'tsconfig.json': JSON.stringify({
      compilerOptions: {
        strict: true,
        module: 'nodenext',
        target: 'es2022',
        noEmit: true,
        skipLibCheck: true,
        types: [],
      },
      include: ['*.ts'],
    }),
    'headers.txt': 'Authorization: Token token=abcdef\n',
  });
  for (const [name, address] of [
    ['one', `${origin}/items?limit=3&page=1`],
    ['two', `${origin}/items?limit=3`],
    ['three', 'openapi.json'],
    ['four', `${wiki}/items?limit=3`],
  ] as const)
    expect(await run(['new', name, '--from', address, '--header-file', 'headers.txt'], folder)).toMatchObject({
      code: 0,
    });
  const files = ['one', 'two', 'three', 'four'].map((name) => join(folder, `${name}.ts`));
  const { options } = ts.parseJsonConfigFileContent(
    JSON.parse(readFileSync(join(folder, 'tsconfig.json'), 'utf8')),
    ts.sys,
    folder,
  );
  const program = ts.createProgram(files, options);
  expect(
    ts.getPreEmitDiagnostics(program).map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n')),
  ).toEqual([]);
});

test('U7 the next step installs the library where the definition does not find it', async () => {
  const origin = await serve((query) => ({ body: page(query, 0) }));
  const args = ['new', 'shop', '--from', `${origin}/items`];
  expect((await run(args, temporaryFolder())).stderr).toMatch(
    /\nNext: npm install @sluice\/core, then \S+ doctor, then /,
  );
  expect((await run(args, configFolder({}))).stderr).toMatch(/\nNext: \S+ doctor, then /);
});

test('U7 an API that refuses the request without a credential is told where to put one', async () => {
  const origin = await serve(() => ({ status: 401, body: { error: 'who are you' } }));
  expect(await run(['new', 'shop', '--from', `${origin}/items`], configFolder({}))).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(
      'The API refuses requests without a credential (HTTP 401). Write its header into a file, e.g. Authorization: Bearer TOKEN, and give --header-file FILE.',
    ),
  });
});
