import { describe, expect, test } from 'vitest';
import {
  createClient,
  poll,
  watch,
  type Change,
  type ClientEvent,
  type Link,
  type Snapshot,
  type Source,
  type WatchOptions,
} from '../../src/index.js';
import {
  bearer,
  byLink,
  byOffset,
  byPage,
  defineApi,
  listing,
  rateLimitHeaders,
  type Paging,
} from '../../src/define/index.js';
import type { PageHealth } from '../../src/kit.js';
import { map } from 'rxjs';
import { onTestEnd } from '../../../../scripts/testScope.js';
import { SkippingClock } from '../rows/watch/skippingClock.js';
import { openListing, serve, type Said } from './servedApi.js';
import { serveTable, tableListing, tagOf, type Row, type TaggedTable } from './taggedTable.js';

interface Watched {
  readonly changes: readonly Change<Row>[];
  readonly health: readonly PageHealth[];
}

/** Watches for some polls; `between` is called after each. */
async function watched(
  source: Source<Row>,
  polls: number,
  {
    between,
    ...options
  }: Partial<Omit<WatchOptions<Row>, 'rules'>> & { readonly between?: (poll: number) => void } = {},
): Promise<Watched> {
  const changes: Change<Row>[] = [];
  const health: PageHealth[] = [];
  const flow = watch(source, { every: 1000, clock: new SkippingClock(), polls, ...options });
  for await (const page of flow.pages({ prefetch: 0 })) {
    changes.push(...page.items);
    if (page.health) health.push(page.health);
    between?.(health.length);
  }
  return { changes, health };
}

function later({ changes }: Watched): readonly string[] {
  return changes.filter(({ type }) => type !== 'initial').map(({ type, key }) => `${type} ${key}`);
}

/** The statuses of a table's responses, by walk. */
function statuses({ seen }: TaggedTable): readonly (readonly number[])[] {
  const walks: number[][] = [];
  for (const { path, status } of seen) {
    if (path === '/rows') walks.push([]);
    walks.at(-1)?.push(status);
  }
  return walks;
}

describe('A7 a watch of a listing with entity tags', () => {
  test('A7 decodes and compares nothing while 5,000 rows are unchanged', { tags: ['slow'] }, async () => {
    const table = await serveTable(5000);
    const items = tableListing();
    let compared = 0;
    const equals = (): boolean => {
      compared += 1;
      return true;
    };
    const { changes, health } = await watched(openListing(items, table)(), 5, { equals });
    expect(changes).toHaveLength(5000);
    expect(health.map(({ outcome, rows }) => `${outcome} ${rows}`)).toEqual(Array(5).fill('polled 5000'));
    expect(items.decoded()).toBe(5000);
    expect(compared).toBe(0);
    const walks = statuses(table);
    expect(walks).toHaveLength(6);
    expect(walks[0]).toEqual(Array(50).fill(200));
    for (const walk of walks.slice(1)) expect(walk).toEqual(Array(50).fill(304));
  });

  test('A7 finds what changes on a page in the middle, and decodes only that page', async () => {
    const table = await serveTable(1000);
    const items = tableListing();
    const told = await watched(openListing(items, table)(), 4, {
      between: (poll) => {
        if (poll === 2) table.rows[555] = { id: 555, name: 'other' };
      },
    });
    expect(later(told)).toEqual(['changed 555']);
    expect(items.decoded()).toBe(1100);
    expect(statuses(table).at(-2)).toEqual(
      [200, 200, 200, 200, 200, 304, 200, 200, 200, 200].map((s) => (s === 304 ? 200 : 304)),
    );
    expect(statuses(table).at(-1)).toEqual(Array(10).fill(304));
  });

  test('A7 finds it also where each page reads the last row again', async () => {
    const table = await serveTable(0);
    table.rows = Array.from({ length: 300 }, (_, id) => ({ id, name: `row ${id}` }));
    table.alter = (_said, { headers }, path) => {
      const query = new URLSearchParams(path.split('?')[1]);
      const offset = Number(query.get('offset') ?? 0);
      const body = { items: table.rows.slice(offset, offset + Number(query.get('limit'))), total: table.rows.length };
      const etag = tagOf(body);
      return headers['if-none-match'] === etag ? { status: 304, headers: { etag } } : { body, headers: { etag } };
    };
    const items = tableListing({
      pageSize: { param: 'limit', default: 50 },
      total: 'total',
      paging: byOffset({ param: 'offset' }),
    });
    const told = await watched(openListing(items, table)(), 4, {
      concurrency: 2,
      between: (poll) => {
        if (poll === 2) table.rows[120] = { id: 120, name: 'other' };
      },
    });
    expect(later(told)).toEqual(['changed 120']);
    const pages = table.seen.length / 5;
    expect(table.seen.map(({ status }) => status).filter((status) => status === 200)).toHaveLength(pages + 1);
  });

  test('A7 finds rows that come and go, and pages that move', { tags: ['slow'] }, async () => {
    const table = await serveTable(1000);
    const told = await watched(openListing(tableListing(), table)(), 6, {
      between: (poll) => {
        // All later pages begin at another row, hence at other addresses.
        if (poll === 1) table.rows = table.rows.filter(({ id }) => id !== 50);
        if (poll === 4) table.rows = [...table.rows, { id: 2000, name: 'new' }];
      },
    });
    expect(later(told)).toEqual(['removed 50', 'added 2000']);
    expect(told.health.at(-1)?.rows).toBe(1000);
  });

  test.each([400, 404, 410, 412, 431])(
    'A7 begins anew without validators when the API refuses a stored cursor with %i',
    async (status) => {
      const table = await serveTable(300);
      let epoch = 1;
      const cursor = (text: string): string => `${epoch}-${text}`;
      const { baseUrl, requests, asked } = await serve((url, _nth, request) => {
        const [made = '', after = '-1'] = (url.searchParams.get('after') ?? cursor('-1')).split(/-(.*)/s);
        if (Number(made) !== epoch) return { status, body: {} };
        const rest = table.rows.filter(({ id }) => id > Number(after));
        const items = rest.slice(0, 100);
        const etag = tagOf(items);
        if (request.headers['if-none-match'] === etag) return { status: 304, headers: { etag } };
        return {
          body: { items, ...(rest.length > 100 && { next: cursor(String(items.at(-1)!.id)) }) },
          headers: { etag },
        };
      });
      const items = tableListing();
      const told = await watched(openListing(items, { baseUrl })(), 3, {
        between: (poll) => {
          if (poll !== 1) return;
          epoch = 2;
          table.rows[0] = { id: 0, name: 'changed' };
          table.rows[250] = { id: 250, name: 'changed' };
        },
      });
      expect(told.health.map(({ outcome }) => outcome)).toEqual(['polled', 'polled', 'polled']);
      expect(later(told)).toEqual(['changed 0', 'changed 250']);
      // Two walks of three pages; then page 1 has changed, so its cursor is new; the rest fits.
      expect(asked).toHaveLength(6 + 3 + 3);
      expect(requests).toHaveLength(asked.length);
    },
  );

  test('A7 emits nothing false when every stored cursor has expired, and stops storing pages then', async () => {
    const table = await serveTable(300);
    let walks = 0;
    const { baseUrl, requests, asked } = await serve((url, _nth, request) => {
      const given = url.searchParams.get('after');
      // Each walk gets its own cursors, though the tag is only about rows.
      if (given === null) walks += 1;
      const [made = '', after = '-1'] = (given ?? `${walks}-`).split('-');
      if (Number(made) !== walks) return { status: 400, body: {} };
      const rest = table.rows.filter(({ id }) => id > Number(after === '' ? -1 : after));
      const items = rest.slice(0, 100);
      const etag = tagOf(items);
      if (request.headers['if-none-match'] === etag) return { status: 304, headers: { etag } };
      return { body: { items, ...(rest.length > 100 && { next: `${walks}-${items.at(-1)!.id}` }) }, headers: { etag } };
    });
    const told = await watched(openListing(tableListing(), { baseUrl })(), 6);
    expect(told.health.map(({ outcome, rows }) => `${outcome} ${rows}`)).toEqual(Array(6).fill('polled 300'));
    expect(later(told)).toEqual([]);
    // Three times a 304 and a refused cursor before a walk.
    expect(asked).toHaveLength(7 * 3 + 3 * 2);
    const sent = requests.filter(({ headers }) => headers['if-none-match'] !== undefined);
    expect(sent).toHaveLength(6);
  });

  test('A7 stores no more rows than its limit, and requests the other pages in full', async () => {
    const table = await serveTable(1000);
    const items = tableListing();
    await watched(openListing(items, table)(), 3, { conditional: { maxRows: 250 } });
    for (const walk of statuses(table).slice(1)) expect(walk).toEqual([304, 304, ...Array<number>(8).fill(200)]);
    expect(items.decoded()).toBe(1000 + 3 * 800);
  });

  test('A7 stores no more bytes than its limit', async () => {
    const table = await serveTable(1000);
    await watched(openListing(tableListing(), table)(), 2, { conditional: { maxBytes: 10_000 } });
    expect(statuses(table).at(-1)).toEqual([304, 304, 304, ...Array<number>(7).fill(200)]);
  });

  test('A7 keeps only the pages of its last complete walk', async () => {
    const table = await serveTable(1000);
    await watched(openListing(tableListing(), table)(), 4, {
      conditional: { maxRows: 1000 },
      between: (poll) => {
        if (poll === 1) table.rows = table.rows.map(({ id, name }) => ({ id: id + 10_000, name }));
      },
    });
    // The old pages fill the limit during one walk; the next one stores the new pages.
    const walks = statuses(table);
    expect(walks[2]).toEqual(Array(10).fill(200));
    expect(walks.at(-1)).toEqual(Array(10).fill(304));
  });

  test.each([
    ['conditional: false', { conditional: false }, {}],
    ['no tag', {}, { etag: undefined }],
    ['a tag of more than 8 KB', {}, { etag: `"${'x'.repeat(8200)}"` }],
    ['a malformed tag', {}, { etag: 'abc' }],
    ['only Last-Modified', {}, { etag: undefined, 'last-modified': 'Sun, 06 Nov 1994 08:49:37 GMT' }],
  ])('A7 sends no validator with %s', async (_what, options, headers) => {
    const table = await serveTable(200);
    table.alter = (said) => ({
      ...said,
      headers: Object.fromEntries(
        Object.entries({ ...said.headers, ...headers }).filter(
          (entry): entry is [string, string] => entry[1] !== undefined,
        ),
      ),
    });
    await watched(openListing(tableListing(), table)(), 3, options);
    expect(table.seen.every(({ tag, status }) => tag === undefined && status === 200)).toBe(true);
  });

  test('A7 sends no validator for what an operator makes, unless it is told to', async () => {
    const table = await serveTable(200);
    const piped = openListing(tableListing(), table)().pipePages(
      map((row) => ({ ...row })),
      { schema: { columns: ['id'], key: ({ id }) => id } },
    );
    await watched(piped, 2);
    expect(statuses(table).flat()).toEqual(Array(6).fill(200));
    await watched(piped, 2, { conditional: true });
    expect(statuses(table).at(-1)).toEqual([304, 304]);
  });

  test('A7 does not store what its decoder modifies', async () => {
    const table = await serveTable(200);
    const items = tableListing({
      decode: (value) => Object.assign(value as Row, { name: `${(value as Row).name}!` }),
      version: '1',
    });
    const told = await watched(openListing(items, table)(), 3);
    expect(later(told)).toEqual([]);
    expect(statuses(table).flat()).toEqual(Array(8).fill(200));
  });
});

describe('A7 a 304', () => {
  test('A7 is an error that says so, if the request had no validator', async () => {
    const table = await serveTable(200);
    table.alter = () => ({ status: 304 });
    const source = openListing(tableListing(), table)();
    await expect(source.toArray()).rejects.toMatchObject({
      code: 'http',
      message: expect.stringContaining('304 (not modified) to a request without a validator') as string,
    });
  });

  test.each<[string, { readonly headers?: Readonly<Record<string, string>> }, Link[]]>([
    ['headers of the definition', { headers: { 'If-Modified-Since': 'Tue, 01 Sep 2026 00:00:00 GMT' } }, []],
    ['a link', {}, [(next) => (request) => next({ ...request, headers: { 'if-none-match': '"mine"' } })]],
    [
      'a link that answers by itself',
      {},
      [() => () => Promise.resolve({ status: 304, headers: {}, body: null, attempts: 1 })],
    ],
  ])('A7 is an error, and not a page without rows, if the validator is one of %s', async (_, parts, links) => {
    const { baseUrl } = await serve((_url, nth) => (nth === 1 ? { body: { items: [{ id: 1 }] } } : { status: 304 }));
    const source = openListing(
      listing<Row>({
        path: '/items',
        paging: byPage({ param: 'page' }),
        columns: ['id'],
        ...parts,
        rows: ({ body }) => ({ rows: (body as { readonly items: readonly Row[] } | null)?.items ?? [], at: 'items?' }),
      }),
      { baseUrl, links },
    )();
    await expect(source.toArray()).rejects.toMatchObject({
      code: 'http',
      message: expect.stringContaining('no stored page that it could stand for') as string,
    });
  });

  test('A7 is an error also in a watch whose link has removed the validator', async () => {
    const table = await serveTable(200);
    const remove: Link = (next) => (request) => {
      const kept = Object.entries(request.headers ?? {}).filter(([name]) => name !== 'If-None-Match');
      return next({ ...request, headers: Object.fromEntries(kept) });
    };
    const source = openListing(tableListing(), { ...table, links: [remove] })();
    const { health } = await watched(source, 3, {
      between: (poll) => {
        if (poll === 2) table.alter = () => ({ status: 304 });
      },
    });
    expect(table.seen.every(({ tag }) => tag === undefined)).toBe(true);
    expect(health.map(({ outcome }) => outcome)).toEqual(['polled', 'polled', 'failed']);
    expect(String(health[2]?.error)).toContain('without a validator');
  });

  test('A7 does not stand for a stored page, if a link has sent another validator', async () => {
    const table = await serveTable(100);
    const other: Link = (next) => (request) =>
      next({
        ...request,
        headers: { ...request.headers, ...(request.headers?.['If-None-Match'] && { 'If-None-Match': '"other"' }) },
      });
    table.alter = (said, { headers }) => (headers['if-none-match'] === '"other"' ? { status: 304 } : said);
    const told = await watched(openListing(tableListing(), { ...table, links: [other] })(), 3, {
      between: (poll) => {
        if (poll === 1) table.rows[5] = { id: 5, name: 'other' };
      },
    });
    expect(later(told)).toEqual(['changed 5']);
    // It is asked once more, and then never again with a validator.
    expect(table.seen.map(({ status }) => status)).toEqual([200, 304, 200, 200, 200]);
  });

  test('A7 of another tag is not believed', async () => {
    const table = await serveTable(100);
    table.alter = (said, { headers }) => (headers['if-none-match'] ? { status: 304, headers: { etag: '"x"' } } : said);
    const told = await watched(openListing(tableListing(), table)(), 2, {
      between: () => (table.rows[5] = { id: 5, name: 'other' }),
    });
    expect(later(told)).toEqual(['changed 5']);
    expect(table.seen.map(({ status }) => status)).toEqual([200, 304, 200, 200]);
  });

  test.each([
    ['weak tags', (tag: string) => `W/${tag}`, (tag: string) => tag],
    ['tags of compressed variants', (tag: string) => tag.replace(/"$/, '-gzip"'), (tag: string) => tag],
    ['a 304 without a tag', (tag: string) => tag, () => undefined],
  ])('A7 is used with %s', async (_what, sent, repeated) => {
    const table = await serveTable(200);
    const items = tableListing();
    table.alter = (said, { headers }) => {
      const tag = String(said.headers?.['etag']);
      const isSame = headers['if-none-match'] === sent(tag);
      const again = repeated(tag);
      return isSame
        ? { status: 304, headers: again === undefined ? {} : { etag: again } }
        : { ...said, headers: { etag: sent(tag) } };
    };
    await watched(openListing(items, table)(), 3);
    expect(items.decoded()).toBe(200);
    expect(statuses(table).at(-1)).toEqual([304, 304]);
  });

  test('A7 is used whatever body, length and encoding it claims to have', async () => {
    const table = await serveTable(200);
    const items = tableListing();
    table.alter = (said) =>
      said.status === 304
        ? { ...said, headers: { ...said.headers, 'content-length': '5000', 'content-encoding': 'gzip' }, text: '' }
        : said;
    const { health } = await watched(openListing(items, table)(), 3);
    expect(health.map(({ outcome }) => outcome)).toEqual(['polled', 'polled', 'polled']);
    expect(items.decoded()).toBe(200);
  });

  test('A7 shows itself to links, hooks and events', async () => {
    const table = await serveTable(100);
    const seen: unknown[] = [];
    const events: ClientEvent[] = [];
    const spy: Link = (next) => async (request) => {
      const response = await next(request);
      seen.push([request.headers?.['If-None-Match'] !== undefined, response.status, response.body === null]);
      return response;
    };
    const api = defineApi({ name: 'test', sources: { items: tableListing() } });
    const client = createClient({ apiKey: false, rateLimit: false, links: [spy] }).use(api({ baseUrl: table.baseUrl }));
    onTestEnd(() => client.close());
    client.events.subscribe((event) => events.push(event));
    await watched(client.test.items(), 1);
    expect(seen).toEqual([
      [false, 200, false],
      [true, 304, true],
    ]);
    expect(events.filter(({ type }) => type === 'response' || type === 'settled')).toMatchObject([
      { type: 'response', status: 200 },
      { type: 'settled', outcome: 'answered', status: 200 },
      { type: 'response', status: 304 },
      { type: 'settled', outcome: 'answered', status: 304 },
    ]);
  });
});

describe('A7 validators and credentials', () => {
  test('A7 two clients never share a stored page', async () => {
    const table = await serveTable(100);
    const items = tableListing();
    for (const apiKey of ['first-key', 'second-key']) await watched(openListing(items, { ...table, apiKey })(), 1);
    expect(table.seen.map(({ status, tag }) => [status, tag !== undefined])).toEqual([
      [200, false],
      [304, true],
      [200, false],
      [304, true],
    ]);
  });

  test('A7 a page that was stored with other credentials is not used', async () => {
    const table = await serveTable(100);
    let valid = 'first-token';
    const items = tableListing();
    const api = defineApi({
      name: 'test',
      baseUrl: table.baseUrl,
      sources: { items },
      auth: bearer(() => valid),
    });
    const client = createClient({ apiKey: false, rateLimit: false }).use(api());
    onTestEnd(() => client.close());
    // A server that looks at no account for a 304, but at one for the rows.
    table.alter = (said, { headers }) => {
      if (headers.authorization !== `Bearer ${valid}`) return { status: 401, body: {} };
      if (headers['if-none-match']) return { status: 304 };
      return valid === 'first-token' ? said : { ...said, body: { items: [{ id: 0, name: 'of the second' }] } };
    };
    const told = await watched(client.test.items(), 3, {
      acceptRemovals: true,
      confirmations: 1,
      between: (poll) => {
        if (poll === 1) valid = 'second-token';
      },
    });
    expect(told.changes.find(({ type, key }) => type === 'changed' && key === '0')?.after).toMatchObject({
      name: 'of the second',
    });
    expect(table.seen.map(({ status }) => status)).toEqual([200, 401, 304, 200, 200]);
  });
});

describe('A7 an API that pages by Link headers and does not count 304s', () => {
  const numbers = { decode: (value: unknown) => value as Row, version: '1', rows: '', paging: byLink() } as const;

  /** Like GitHub's: pages by number, a tag of the body only, and a quota. */
  async function serveGithub(count: number, { repeatsLink = true } = {}) {
    const state = {
      rows: Array.from({ length: count }, (_, id) => ({ id, name: `row ${id}` })),
      used: 0,
      statuses: [] as number[],
    };
    const server = await serve((url, _nth, { headers: sent }): Said => {
      const page = Number(url.searchParams.get('page') ?? 1);
      const last = Math.ceil(state.rows.length / 10);
      const body = state.rows.slice(10 * (page - 1), 10 * page);
      const etag = `W/${tagOf(body)}`;
      const links = [
        ...(page < last ? [`<${server.baseUrl}/rows?page=${page + 1}>; rel="next"`] : []),
        ...(last > 1 ? [`<${server.baseUrl}/rows?page=${last}>; rel="last"`] : []),
      ];
      const isSame = sent['if-none-match'] === etag;
      state.used += isSame ? 0 : 1;
      state.statuses.push(isSame ? 304 : 200);
      return {
        ...(isSame ? { status: 304 } : { body }),
        headers: {
          etag,
          'x-ratelimit-limit': '200000',
          'x-ratelimit-remaining': String(200_000 - state.used),
          'x-ratelimit-reset': '60',
          ...(links.length > 0 && (repeatsLink || !isSame) && { link: links.join(', ') }),
        },
      };
    });
    const client = createClient({ apiKey: false, rateLimit: false }).use(
      defineApi({ name: 'test', sources: { items: tableListing(numbers) }, quota: rateLimitHeaders() })({
        baseUrl: server.baseUrl,
      }),
    );
    onTestEnd(() => client.close());
    const quotas: number[] = [];
    client.events.subscribe((event) => {
      if (event.type === 'response' && event.quota) quotas.push(event.quota.remaining);
    });
    return { state, quotas, source: client.test.items() };
  }

  test('A7 takes nothing of its quota while nothing changes, and the limiter knows', { tags: ['slow'] }, async () => {
    const { state, quotas, source } = await serveGithub(95);
    const { health } = await watched(source, 9);
    expect(health.at(-1)).toMatchObject({ outcome: 'polled', rows: 95 });
    expect(state.statuses).toHaveLength(100);
    expect(state.used).toBe(10);
    expect(quotas.slice(-90)).toEqual(Array(90).fill(199_990));
  });

  test.each([true, false])(
    'A7 sees a page that is added after a full last one (304s have a Link: %s)',
    async (repeatsLink) => {
      const { state, source } = await serveGithub(30, { repeatsLink });
      const told = await watched(source, 4, {
        between: (poll) => {
          if (poll === 2) state.rows.push({ id: 100, name: 'new' });
        },
      });
      expect(later(told)).toEqual(['added 100']);
      expect(told.health.at(-1)?.rows).toBe(31);
      // The first two pages are never requested in full again.
      expect(state.statuses.filter((status) => status === 304).length).toBeGreaterThanOrEqual(8);
    },
  );

  test('A7 sees the second page of a listing that had one', async () => {
    const { state, source } = await serveGithub(10);
    const told = await watched(source, 3, {
      between: (poll) => {
        if (poll === 2) state.rows.push({ id: 100, name: 'new' });
      },
    });
    expect(later(told)).toEqual(['added 100']);
  });
});

describe('A7 the last page of a listing', () => {
  /** Pages of ten rows by number. Only a header says how many there are, and no 304 repeats it. */
  async function serveCounted() {
    const state = {
      rows: Array.from({ length: 20 }, (_, id) => ({ id, name: `row ${id}` })),
      statuses: [] as number[],
    };
    const { baseUrl } = await serve((url, _nth, { headers: sent }): Said => {
      const page = Number(url.searchParams.get('page') ?? 1);
      const body = { items: state.rows.slice(10 * (page - 1), 10 * page) };
      const etag = tagOf(body);
      const isSame = sent['if-none-match'] === etag;
      state.statuses.push(isSame ? 304 : 200);
      if (isSame) return { status: 304, headers: { etag } };
      return { body, headers: { etag, 'x-pages': String(Math.ceil(state.rows.length / 10)) } };
    });
    return { state, baseUrl };
  }
  const ofHeader = ({ headers }: { readonly headers: Readonly<Record<string, string>> }): number =>
    Number(headers['x-pages']);
  const byCount = byPage({ param: 'page', pages: ofHeader });

  test.each<[string, Paging]>([
    ['a function may look at', byCount],
    ['the paging says that it reads', { ...byCount, reads: ['x-pages'] }],
  ])('A7 is requested in full if it depends on a header that %s', async (_what, paging) => {
    const { state, baseUrl } = await serveCounted();
    const told = await watched(openListing(tableListing({ paging }), { baseUrl })(), 3, {
      between: (poll) => {
        if (poll === 2) state.rows.push({ id: 100, name: 'new' });
      },
    });
    expect(later(told)).toEqual(['added 100']);
    expect(state.statuses.filter((status) => status === 304).length).toBeGreaterThanOrEqual(2);
  });
});

describe('A7 a poll', () => {
  async function polled(source: Source<Row>, conditional?: boolean): Promise<readonly Snapshot<Row>[]> {
    const snapshots: Snapshot<Row>[] = [];
    const options = { every: 1000, clock: new SkippingClock(), ...(conditional !== undefined && { conditional }) };
    for await (const snapshot of poll(source, options)) if (snapshots.push(snapshot) === 3) break;
    return snapshots;
  }

  test('A7 sends validators if it is told to, and emits the same row objects', async () => {
    const table = await serveTable(200);
    const [one, , three] = await polled(openListing(tableListing(), table)(), true);
    expect(statuses(table)).toEqual([
      [200, 200],
      [304, 304],
      [304, 304],
    ]);
    expect(three?.rows).toEqual(one?.rows);
    expect(three?.rows[150]).toBe(one?.rows[150]);
  });

  test('A7 sends none by default, since its consumers may modify rows', async () => {
    const table = await serveTable(200);
    const [one, , three] = await polled(openListing(tableListing(), table)());
    expect(statuses(table).flat()).toEqual(Array(6).fill(200));
    expect(three?.rows[150]).not.toBe(one?.rows[150]);
  });
});

describe('A7 listings that can not be requested conditionally', () => {
  test.each([
    ['sends a body', { method: 'POST', body: {} }],
    ['may request each page only once', { isRepeatable: false }],
  ] as const)('A7 no validator is sent where the listing %s', async (_what, definition) => {
    const table = await serveTable(200);
    await watched(openListing(tableListing(definition), table)(), 2);
    expect(table.seen.every(({ tag, status }) => tag === undefined && status === 200)).toBe(true);
    expect(table.seen).toHaveLength(6);
  });
});
