import { startSandbox } from '@sluice/sandbox';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  createClient,
  exportTo,
  memoryState,
  type ClientEvent,
  type ClientOptions,
  type Link,
  type Plugin,
  type PluginContext,
} from '../../src/index.js';
import { FakeClock } from '../fakeClock.js';
import { canary, expectNoKey } from '../http/canary.js';
import { answer, ok, startServer } from '../http/scriptedServer.js';
import { startHoldings, type Row } from '../sandboxSource.js';
import { recordingSink } from '../rows/sink/recordingSink.js';

const options: ClientOptions = { apiKey: canary, rateLimit: false };

/** A plugin whose namespace is all that it was handed. */
const open = { name: 'open', setup: (context: PluginContext) => ({ context }) } satisfies Plugin<'open'>;

/** All that can be reached from a value by properties of any kind, prototypes and what collections hold. */
function reachable(start: unknown): unknown[] {
  const found = new Set<unknown>();
  const left = [start];
  for (let value = left.pop(); value !== undefined || left.length > 0; value = left.pop()) {
    if (found.has(value)) continue;
    found.add(value);
    if ((typeof value !== 'object' && typeof value !== 'function') || value === null) continue;
    left.push(Object.getPrototypeOf(value));
    for (const name of Reflect.ownKeys(value)) {
      left.push(name, Object.getOwnPropertyDescriptor(value, name)?.value);
      try {
        left.push(Reflect.get(value, name));
      } catch {
        // Some properties of functions can't be read.
      }
    }
    if (value instanceof Map || value instanceof Set) left.push(...[...value].flat());
  }
  return [...found];
}

function expectFrozen(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  expect(Object.isFrozen(value)).toBe(true);
  for (const partition of Object.values(value)) expectFrozen(partition);
}

describe('what a plugin is handed', () => {
  test('G3 is an endpoint, a clock, random numbers, a logger and state', async () => {
    const clock = new FakeClock();
    const client = createClient({ ...options, clock, random: () => 0.25 }).use(open);
    const { context } = client.open;
    expect(Object.keys(context).sort()).toEqual(['clock', 'endpoint', 'logger', 'random', 'state']);
    expect(context.clock).toBe(clock);
    expect(context.random()).toBe(0.25);
    expect(() => Object.assign(context, { random: () => 1 })).toThrow(TypeError);
    expect(() => Object.assign(context.endpoint('https://api.example.com'), { ask: () => 1 })).toThrow(TypeError);
    await client.close();
  });

  test('G3 leads neither to the key nor to axios, wherever one looks', async () => {
    const server = await startServer(ok({ rows: [] }));
    const client = createClient(options).use(open);
    const { context } = client.open;
    const endpoint = context.endpoint(server.url);
    const answered = await endpoint.send({ route: 'test.route', path: '/things', query: {} });
    const all = reachable({ context, endpoint, answered, client, state: context.state });
    const texts = all.filter((value) => typeof value === 'string');
    expect(texts).toContain('content-type');
    expectNoKey(texts.join('\n'));
    expectNoKey(context, endpoint, answered, client);
    const functions = all.filter((value) => typeof value === 'function');
    expect(functions).toContain(endpoint.send);
    for (const each of functions) expect(each).not.toHaveProperty('interceptors');
    await client.close();
  });

  test('G3 answers with status, headers and document', async () => {
    const server = await startServer(answer(203, '{"rows":[1]}', { Link: '</next>; rel="next"' }));
    const client = createClient(options).use(open);
    const endpoint = client.open.context.endpoint(server.url, { arrays: 'repeat' });
    const request = { route: 'test.route', path: '/things', query: { id: ['1', '2'] } };
    expect(await endpoint.send(request)).toEqual({
      status: 203,
      headers: expect.objectContaining({ link: '</next>; rel="next"' }),
      body: { rows: [1] },
    });
    expect(await endpoint.request({ ...request, arrays: 'comma' })).toEqual({ rows: [1] });
    expect(server.requests.map(({ url }) => url)).toEqual(['/things?id=1&id=2', '/things?id=1%2C2']);
    await client.close();
  });

  test('G3 keeps the state of each plugin apart, and where the user says', async () => {
    const asked: string[] = [];
    const kept = memoryState();
    const state = (plugin: string): typeof kept => (asked.push(plugin), plugin === 'kept' ? kept : memoryState());
    const client = createClient({ ...options, state })
      .use({ ...open, name: 'kept' } satisfies Plugin<'kept'>)
      .use({ ...open, name: 'other' } satisfies Plugin<'other'>);
    expect(asked).toEqual([]);
    await client.kept.context.state.save('seen', { until: 5 });
    expect(await client.kept.context.state.load('seen')).toEqual({ until: 5 });
    expect(await client.other.context.state.load('seen')).toBeUndefined();
    expect(client.kept.context.state).toBe(kept);
    expect(asked).toEqual(['kept', 'other']);
    await client.close();
  });

  test('G3 tells of sources in events that are made anew: known fields only, frozen and without secrets', async () => {
    const client = createClient(options).use(open);
    const events: ClientEvent[] = [];
    client.events.subscribe((event) => events.push(event));
    const { observe } = client.open.context.endpoint('http://127.0.0.1:9');
    const error = { name: canary, message: canary, details: { [canary]: canary, deep: { canary } }, extra: { canary } };
    const nested = { headers: { key: canary } };
    const counts = { rows: 1, pages: 1, isSealed: true };
    const statuses = { before: canary, after: null, observedAt: '2026-01-02T03:04:05.000Z' };
    for (const event of [
      { type: 'error', of: 'walk', name: `a ${canary}`, error, nested },
      { type: 'error', of: 'watch', name: 'test.few', error: new Error(canary) },
      { type: 'page', source: canary, partition: 0, page: 1, rows: 1, total: canary, nested },
      { type: 'commit', source: canary, sink: canary, ...counts, nested },
      { type: 'change', source: canary, key: canary, kind: 'changed', ...statuses, nested },
    ])
      observe(event as never);
    expect(events.map(({ type }) => type)).toEqual(['error', 'error', 'page', 'commit', 'change']);
    expect(events[4]).toMatchObject({ kind: 'changed', before: '[hidden]', after: null });
    expect(Object.keys(events[2]!).sort()).toEqual(['page', 'partition', 'rows', 'source', 'type']);
    expect(events.filter((event) => 'nested' in event)).toEqual([]);
    for (const event of events) expectFrozen(event);
    expectNoKey(events);
    await client.close();
  });

  test('G3 asks under a route that is no text, or that holds the key', async () => {
    const server = await startServer(ok());
    const client = createClient(options).use(open);
    const events: ClientEvent[] = [];
    client.events.subscribe((event) => events.push(event));
    const { send } = client.open.context.endpoint(server.url);
    for (const route of [5, Object.create(null), canary])
      await send({ route: route as string, path: '/things', query: {} });
    expect(events.filter(({ type }) => type === 'settled')).toHaveLength(3);
    expectNoKey(events);
    await client.close();
  });

  const unchanged = { before: null, after: null, observedAt: '2026-01-02T03:04:05.000Z' };
  test.each<[string, unknown]>([
    ['of no type', { type: canary }],
    ["of a type that is not a source's", { type: 'plugin-fault', plugin: 'open', hook: 'page', error: {} }],
    ['of a request, which only the client tells', { type: 'error', of: 'request', name: 'a', error: {} }],
    ['with a name that is no text', { type: 'error', of: 'walk', name: { canary }, error: {} }],
    ['with counts that are none', { type: 'page', source: 'a', partition: 0, page: 1, rows: canary }],
    ['with a kind of change that is none', { type: 'change', source: 'a', key: 'b', kind: canary, ...unchanged }],
    [
      'with a status that is no text',
      { type: 'change', source: 'a', key: 'b', kind: 'added', ...unchanged, after: {} },
    ],
    ['without its sink', { type: 'commit', source: 'a', rows: 1, pages: 1, isSealed: true }],
    ['that is nothing', undefined],
    [
      'that throws when it is read',
      {
        get type() {
          throw new Error(canary);
        },
      },
    ],
  ])('G3 tells of no event %s, but that it was dropped', async (_what, event) => {
    const client = createClient(options).use(open);
    const events: ClientEvent[] = [];
    client.events.subscribe((told) => events.push(told));
    client.open.context.endpoint('http://127.0.0.1:9').observe(event as never);
    expect(events).toEqual([{ type: 'warning', plugin: 'open', message: expect.stringContaining('was dropped') }]);
    await client.close();
  });

  test('G3 logs in its name and without secrets, also what is no text', async () => {
    const client = createClient(options).use(open);
    const seen: ClientEvent[] = [];
    client.events.subscribe((event) => seen.push(event));
    const { logger, endpoint } = client.open.context;
    logger.info(`odd: ${JSON.stringify({ key: canary })} ${encodeURIComponent(canary)}`);
    logger.warn(new Error(canary) as never);
    logger.warn(canary.padEnd(1_000_000, '.'));
    endpoint('https://api.example.com').warn('slow');
    const plugin = 'open';
    expect(seen).toEqual([
      { type: 'info', plugin, message: 'odd: {"key":"[hidden]"} [hidden]' },
      { type: 'warning', plugin, message: 'Error: [hidden]' },
      { type: 'warning', plugin, message: '[hidden]'.padEnd(10_000 + '[hidden]'.length - canary.length, '.') },
      { type: 'warning', plugin, message: 'slow' },
    ]);
    await client.close();
  });
});

describe('events', () => {
  test('G3 hold no key, whatever servers, links and plugins do with it', async () => {
    const echoed = answer(403, JSON.stringify({ key: canary }), { 'x-key': canary });
    const server = await startServer(answer(503, canary), echoed, ok({ key: canary }));
    const telling: Link = (next) => async (request) => {
      const response = await next(request);
      throw new Error(`${JSON.stringify(response.body)} came`, { cause: new TypeError(canary) });
    };
    const events: ClientEvent[] = [];
    const watching = {
      name: 'watching',
      hooks: {
        settled: () => Promise.reject(new Error(canary)),
        attempt() {
          throw Object.assign(new Error('odd'), { name: canary, code: canary });
        },
      },
    } satisfies Plugin<'watching'>;
    const client = createClient({ ...options, links: [telling], retry: { baseDelay: 1 } })
      .use(open)
      .use(watching);
    client.events.subscribe((event) => events.push(event));
    const endpoint = client.open.context.endpoint(server.url);
    const request = { route: 'test.route', path: '/things', query: { key: canary, list: [canary] } };
    await expect(endpoint.send(request)).rejects.toMatchObject({ status: 403 });
    await expect(endpoint.send(request)).rejects.toThrow('came');
    endpoint.observe({
      type: 'error',
      of: 'walk',
      name: 'mine',
      error: { name: 'Error', message: canary, details: { canary } },
    });
    await client.close();

    const types = new Set(events.map(({ type }) => type));
    expect([...types].sort()).toEqual([
      'attempt',
      'close',
      'error',
      'limiter',
      'plugin-fault',
      'request',
      'response',
      'retry',
      'settled',
    ]);
    for (const event of events) {
      expectNoKey(
        event,
        reachable(event)
          .filter((value) => typeof value === 'string')
          .join('\n'),
      );
      expectFrozen(event);
    }
    expect(events.find(({ type }) => type === 'request')).toMatchObject({
      url: expect.stringContaining('/things?key=[hidden]'),
    });
  });

  test('G3 hold no key, also where walks and exports fail for it', async () => {
    const { client, list } = await startHoldings(
      { holdings: 300, apiKey: canary, script: ({ n }) => (n === 2 ? { kind: 'echo-key' } : undefined) },
      { apiKey: canary },
    );
    const events: ClientEvent[] = [];
    client.events.subscribe((event) => events.push(event));
    await expect(exportTo(list(), recordingSink<Row>()).run()).rejects.toMatchObject({ status: 403 });
    expect(events.filter(({ type }) => type === 'error')).toMatchObject([
      { of: 'request' },
      { of: 'walk' },
      { of: 'export' },
    ]);
    expectNoKey(events);
  });

  test('G3 hold no key of a sandbox that misbehaves at random', async () => {
    const sandbox = await startSandbox({
      holdings: 2_000,
      apiKey: canary,
      faults: { echoKey: 0.2, html: 0.1, wrongJson: 0.1 },
    });
    onTestFinished(() => sandbox.close());
    const client = createClient({ ...options, retry: { baseDelay: 1 } }).use(open);
    const events: ClientEvent[] = [];
    client.events.subscribe((event) => events.push(event));
    const endpoint = client.open.context.endpoint(sandbox.aptosUrl);
    const query = { owner_addresses: sandbox.owners, limit: 10 };
    for (let nth = 0; nth < 20; nth += 1)
      await endpoint.send({ route: 'test.holdings', path: '/wallets/nfts', query: { ...query, offset: nth } });
    await client.close();
    expect(events.filter(({ type }) => type === 'retry').length).toBeGreaterThan(3);
    expectNoKey(events);
  });
});
