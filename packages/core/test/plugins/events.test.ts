import { filter, lastValueFrom, map, take, toArray } from 'rxjs';
import { describe, expect, test, vi } from 'vitest';
import {
  createClient,
  createSource,
  exportTo,
  memoryState,
  watch,
  type ClientEvent,
  type ClientOptions,
} from '../../src/index.js';
import type { CommitEvent, PageEvent, SettledEvent } from '../../src/kit.js';
import { FakeClock } from '../fakeClock.js';
import { canary } from '../http/canary.js';
import { testApi } from '../http/children/testApi.js';
import { answer, never, ok, reset, startServer, type Answer } from '../http/scriptedServer.js';
import { startHoldings, type Row } from '../sandboxSource.js';
import { recordingSink } from '../rows/sink/recordingSink.js';
import type { SourceEvent } from '../../src/rows/source/sourceEvent.js';

const route = 'test.route';
const question = { route, path: '/things', query: {} };
const ms = expect.any(Number);
const told = (code: string): unknown => expect.objectContaining({ code });

/** A server, a client of it, and what the client tells. */
async function open(answers: readonly Answer[], overrides: Partial<ClientOptions> = {}) {
  const server = await startServer(...answers);
  const client = createClient({
    apiKey: canary,
    rateLimit: false,
    retry: { baseDelay: 2 },
    random: () => 0.5,
    ...overrides,
  }).use(testApi(server.url));
  return { server, client, ask: client.api.request, events: eventsOf(client) };
}

/** Without those of limiters, whose moments depend on the clock. */
function eventsOf(client: { readonly events: ReturnType<typeof createClient>['events'] }): ClientEvent[] {
  const events: ClientEvent[] = [];
  client.events.pipe(filter(({ type }) => type !== 'limiter')).subscribe((event) => events.push(event));
  return events;
}

const isPage = (event: ClientEvent): event is PageEvent => event.type === 'page';
const isCommit = (event: ClientEvent): event is CommitEvent => event.type === 'commit';
const isSettled = (event: ClientEvent): event is SettledEvent => event.type === 'settled';
const errorsIn = (events: readonly ClientEvent[]): string[] =>
  events.flatMap((event) =>
    event.type === 'error' ? [`${event.of} ${event.name}: ${event.error.code ?? event.error.message}`] : [],
  );

describe('events of requests', () => {
  test('tell what happens on the wire, in order', async () => {
    const { ask, client, events, server } = await open([answer(503), answer(429, '', { 'retry-after': '0' }), ok()]);
    await ask({ ...question, query: { a: 1 } });
    await client.close();
    const request = { route, request: 1 };
    expect(events).toEqual([
      { type: 'request', ...request, method: 'GET', url: `${server.url}/things?a=1` },
      { type: 'attempt', ...request, attempt: 1, waited: ms },
      { type: 'response', ...request, attempt: 1, status: 503, took: ms },
      { type: 'retry', ...request, attempt: 1, delay: 1, reason: 'http', error: told('http'), left: ms },
      { type: 'attempt', ...request, attempt: 2, waited: ms },
      { type: 'response', ...request, attempt: 2, status: 429, took: ms },
      { type: 'paused', ...request, for: 2 },
      {
        type: 'retry',
        ...request,
        attempt: 2,
        delay: 2,
        reason: 'rate-limited',
        error: told('rate-limited'),
        left: ms,
      },
      { type: 'attempt', ...request, attempt: 3, waited: ms },
      { type: 'response', ...request, attempt: 3, status: 200, took: ms },
      { type: 'settled', ...request, outcome: 'answered', status: 200, attempts: 3, took: ms },
      { type: 'close' },
    ]);
  });

  test('are told apart by the number of the request', async () => {
    const { ask, events } = await open([ok()]);
    await Promise.all([ask(question), ask(question), ask(question)]);
    for (const number of [1, 2, 3]) {
      const types = events.flatMap((event) => ('request' in event && event.request === number ? [event.type] : []));
      expect(types).toEqual(['request', 'attempt', 'response', 'settled']);
    }
  });

  test('say of a link that asks twice that there were two requests, and one error at most', async () => {
    const { ask, events } = await open([answer(404), ok()], {
      links: [(next) => (request) => next(request).catch(() => next(request))],
    });
    await ask(question);
    expect(events.filter(isSettled)).toMatchObject([
      { request: 1, outcome: 'failed', error: { code: 'http', details: { status: 404 } } },
      { request: 2, outcome: 'answered' },
    ]);
    expect(errorsIn(events)).toEqual([]);
  });

  const ways: readonly [string, readonly Answer[], object, readonly string[]][] = [
    ['is answered', [ok()], { outcome: 'answered', status: 200, attempts: 1 }, []],
    [
      'is refused',
      [answer(400)],
      { outcome: 'failed', error: { code: 'http' }, attempts: 1 },
      ['request test.route: http'],
    ],
    [
      'fails to the last retry',
      [reset],
      { outcome: 'failed', error: { code: 'network', name: 'NetworkError' }, attempts: 3 },
      ['request test.route: network'],
    ],
    [
      'is asked to wait too long',
      [answer(429, '', { 'retry-after': '3600' })],
      { outcome: 'failed', error: { code: 'rate-limited' }, attempts: 1 },
      ['request test.route: rate-limited'],
    ],
    [
      'gets no document',
      [answer(200, '<html>')],
      { outcome: 'failed', error: { code: 'decode' }, attempts: 3 },
      ['request test.route: decode'],
    ],
  ];

  test.each(ways)('settle once where it %s', async (_how, answers, settled, errors) => {
    const { ask, client, events } = await open(answers, { retry: { retries: 2, baseDelay: 1 } });
    await ask(question).catch(() => undefined);
    await client.close();
    expect(events.filter(isSettled)).toEqual([expect.objectContaining({ request: 1, took: ms })]);
    expect(events.filter(isSettled)).toMatchObject([settled]);
    expect(errorsIn(events)).toEqual(errors);
  });

  test('settle once where the caller stops it, which is no error, wherever it is', async () => {
    const { server, ask, client, events } = await open([never], { rateLimit: { requests: 1, per: 3_600_000 } });
    const stopping = new AbortController();
    const { signal } = stopping;
    const ends = Promise.allSettled([ask({ ...question, signal }), ask({ ...question, signal })]);
    await server.until(() => server.requests.length === 1);
    stopping.abort('enough');
    expect(await ends).toEqual([1, 2].map(() => ({ status: 'rejected', reason: 'enough' })));
    await client.close();
    expect(events.filter(isSettled)).toMatchObject([
      { request: 1, outcome: 'stopped', attempts: 1 },
      { request: 2, outcome: 'stopped', attempts: 0 },
    ]);
    expect(errorsIn(events)).toEqual([]);
  });

  test('settle once where a deadline stops it', async () => {
    const { ask, events } = await open([never], { timeouts: { total: 50 } });
    await expect(ask(question)).rejects.toMatchObject({ code: 'timeout' });
    expect(events.filter(isSettled)).toMatchObject([{ request: 1, outcome: 'failed', error: { code: 'timeout' } }]);
    expect(errorsIn(events)).toEqual(['request test.route: timeout']);
  });

  test('settle once where the client closes', async () => {
    const { server, ask, client, events } = await open([never]);
    const closed = ask(question).catch((error: unknown) => error);
    await server.until(() => server.requests.length === 1);
    await client.close();
    expect(await closed).toMatchObject({ code: 'network' });
    expect(events.filter(isSettled)).toMatchObject([{ request: 1, outcome: 'failed', error: { code: 'network' } }]);
    expect(errorsIn(events)).toEqual(['request test.route: network']);
    expect(events.at(-1)).toEqual({ type: 'close' });
  });

  test('say nothing of a request that was never prepared but that it failed', async () => {
    const { ask, events } = await open([ok()]);
    await expect(ask({ ...question, path: 'https://elsewhere.example' })).rejects.toMatchObject({ code: 'config' });
    expect(events.map(({ type }) => type)).toEqual(['error']);
    expect(errorsIn(events)).toEqual(['request test.route: config']);
  });
});

describe('events of walks', () => {
  test('tell each page that was received, by its part', async () => {
    const { client, list, sandbox } = await startHoldings({ holdings: 700, owners: 3 });
    const events = eventsOf(client);
    const partitions = sandbox.owners.map((owner) => [owner]);
    const rows = await lastValueFrom(list({ partitions, pageSize: 50 }).pipe(toArray()));
    const pages = events.filter(isPage);
    expect(pages.reduce((sum, page) => sum + page.rows, 0)).toBe(rows.length);
    for (const [partition, owner] of sandbox.owners.entries()) {
      const own = pages.filter((page) => page.partition === partition);
      expect(own.map(({ page }) => page)).toEqual(own.map((_, at) => at + 1));
      expect(own.reduce((sum, page) => sum + page.rows, 0)).toBe([...sandbox.holdingsOf([owner])].length);
    }
    expect(pages[0]).toEqual({ type: 'page', source: 'test.holdings', partition: 0, page: 1, rows: 50 });
  });

  test('tell the total where the API says it, and the end of a partition', async () => {
    const events: SourceEvent[] = [];
    const source = createSource<number>({
      name: 'test.few',
      identity: null,
      schema: { columns: [] },
      endpoint: { observe: (event) => events.push(event) },
      fetch: () => Promise.resolve({ rows: [1, 2], next: 'end', total: 2 }),
    });
    await source.toArray();
    const page = { type: 'page', source: 'test.few', partition: 0, page: 1 };
    expect(events).toEqual([{ ...page, rows: 2, total: 2, endsPartition: true }]);
  });

  test('tell an error once a level, when it reaches the consumer', async () => {
    const { client, list } = await startHoldings({
      holdings: 500,
      script: ({ n }) => (n === 3 ? { kind: 'status', status: 400 } : undefined),
    });
    const events = eventsOf(client);
    await expect(lastValueFrom(list())).rejects.toMatchObject({ code: 'cursor-refused' });
    expect(errorsIn(events)).toEqual(['request test.holdings: http', 'walk test.holdings: cursor-refused']);
    expect(events.find((event) => event.type === 'error' && event.of === 'walk')).toMatchObject({
      error: {
        name: 'PaginationError',
        details: { partition: 0, status: 400 },
        cause: { name: 'HttpError', code: 'http' },
      },
    });
  });

  test('tell no error of a walk that is stopped, not even one that came to light ahead of its consumer', async () => {
    const { client, list, sandbox } = await startHoldings({
      holdings: 500,
      script: ({ n }) => (n === 2 ? { kind: 'status', status: 400 } : undefined),
    });
    const events = eventsOf(client);
    for await (const page of list().pages()) {
      expect(page.items).toHaveLength(100);
      await vi.waitUntil(() => errorsIn(events).length === 1, { timeout: 60_000 });
      break;
    }
    await lastValueFrom(list().pipe(take(50), toArray()));
    expect(sandbox.counts.requests).toBe(3);
    expect(errorsIn(events)).toEqual(['request test.holdings: http']);
  });

  test('reach an endpoint of somebody else, whose faults lose no rows', async () => {
    const told: string[] = [];
    class Watching {
      observe({ type }: SourceEvent): void {
        told.push(type);
        throw new Error('of an endpoint');
      }
    }
    const source = createSource<number>({
      name: 'test.few',
      identity: null,
      schema: { columns: [] },
      endpoint: new Watching(),
      fetch: () => Promise.resolve({ rows: [1, 2], next: 'end' }),
    });
    const sink = recordingSink<number>();
    await exportTo(source.pipePages(map((x) => x)), sink).run();
    expect(sink.rows).toEqual([1, 2]);
    // The sink was opened, written to, sealed and closed, and each of these calls has ended.
    expect(told.filter((type) => type !== 'sink')).toEqual(['page', 'commit']);
    expect(told.filter((type) => type === 'sink')).toHaveLength(8);
  });
});

describe('events of exports', () => {
  test('tell each commit, of the rows that are kept by then, and which one is the last', async () => {
    const { client, list } = await startHoldings({ holdings: 450 });
    const events = eventsOf(client);
    const state = memoryState();
    await exportTo(
      list().pipePages(
        map((row) => row),
        { version: '1' },
      ),
      recordingSink<Row>(),
      { state, commitEvery: 2 },
    ).run();
    const commit = { type: 'commit', source: 'test.holdings', sink: 'recording' };
    expect(events.filter(isCommit)).toEqual([
      { ...commit, rows: 200, pages: 2, isSealed: false },
      { ...commit, rows: 400, pages: 4, isSealed: false },
      { ...commit, rows: 450, pages: 5, isSealed: true },
    ]);
  });

  test('tell what is durable only then: after the checkpoint, or without one when the target is in its place', async () => {
    const { client, list } = await startHoldings({ holdings: 100 });
    const calls: string[] = [];
    client.events.subscribe((event) => isCommit(event) && calls.push(`commit ${String(event.isSealed)}`));
    const inner = memoryState();
    const state = { ...inner, save: (name: string, record: object) => (calls.push('save'), inner.save(name, record)) };
    for (const options of [{ state, commitEvery: 1 }, {}]) {
      const sink = recordingSink<Row>();
      sink.beforeClose = () => void calls.push('close');
      await exportTo(list(), sink, options).run();
    }
    expect(calls).toEqual(['save', 'save', 'commit false', 'save', 'commit true', 'close', 'close', 'commit true']);
  });

  test('go on counting where an interrupted run stopped, and tell its error once a level', async () => {
    const { client, list } = await startHoldings({
      holdings: 500,
      script: ({ n }) => (n === 4 ? { kind: 'status', status: 403 } : undefined),
    });
    const events = eventsOf(client);
    const state = memoryState();
    const sink = recordingSink<Row>();
    const flow = exportTo(list(), sink, { state, commitEvery: 1, prefetch: 0 });
    await expect(flow.run()).rejects.toMatchObject({ status: 403 });
    expect(errorsIn(events)).toEqual([
      'request test.holdings: http',
      'walk test.holdings: http',
      'export test.holdings: http',
    ]);
    await flow.run();
    expect(events.filter(isCommit).map(({ rows }) => rows)).toEqual([100, 200, 300, 400, 500, 500]);
    expect(events.filter(isPage).map(({ page }) => page)).toEqual([1, 2, 3, 4, 5]);
    expect(errorsIn(events)).toHaveLength(3);
  });

  test("tell a sink's error, and none where the caller stops it", async () => {
    const { client, list } = await startHoldings({ holdings: 300 });
    const events = eventsOf(client);
    const sink = recordingSink<Row>();
    sink.beforeWrite = () => {
      throw new Error('full');
    };
    await expect(exportTo(list(), sink).run()).rejects.toThrow('full');
    expect(errorsIn(events)).toEqual(['export test.holdings: sink']);
    const stopping = new AbortController();
    sink.beforeWrite = () => stopping.abort('enough');
    await expect(exportTo(list(), sink).run({ signal: stopping.signal })).rejects.toBe('enough');
    expect(errorsIn(events)).toHaveLength(1);
    expect(events.filter(isCommit)).toEqual([]);
  });
});

describe('events of watches', () => {
  test('tell the pages of each poll, each failed walk, and the error that ends it', async () => {
    let fails = false;
    const { client, list } = await startHoldings({
      holdings: 150,
      script: () => (fails ? { kind: 'status', status: 403 } : undefined),
    });
    const events = eventsOf(client);
    const clock = new FakeClock();
    const key = (row: Row): string =>
      JSON.stringify([row['owner_address'], row['token_data_id'], row['property_version']]);
    const changes = watch(list(), { every: 1_000, key, clock, confirmations: 1, maxFailures: 1 });
    const pages = changes.pages()[Symbol.asyncIterator]();
    await pages.next();
    expect(events.filter(isPage).map(({ rows }) => rows)).toEqual([100, 50]);
    fails = true;
    let failed = pages.next();
    await clock.asked(1_000);
    await clock.advance(1_000);
    expect(await failed).toMatchObject({ value: { health: { outcome: 'failed' } } });
    expect(errorsIn(events)).toEqual(['request test.holdings: http', 'walk test.holdings: http']);
    failed = pages.next();
    const ended = expect(failed).rejects.toMatchObject({ status: 403 });
    while (errorsIn(events).length < 5) await clock.advance(1_000);
    await ended;
    expect(errorsIn(events).slice(2)).toEqual([
      'request test.holdings: http',
      'walk test.holdings: http',
      'watch test.holdings.changes: http',
    ]);
  });

  test('tell the commits of an export, under the name of the changes', async () => {
    const { client, list } = await startHoldings({ holdings: 50 });
    const events = eventsOf(client);
    const key = (row: Row): string => JSON.stringify(row);
    const changes = watch(list(), { every: 1_000, key, polls: 1, confirmations: 1 });
    for (const state of [memoryState(), undefined])
      await exportTo(changes, recordingSink(), state ? { state } : {}).run();
    expect(events.filter(isCommit)).toEqual([
      { type: 'commit', source: 'test.holdings.changes', sink: 'recording', rows: 50, pages: 1, isSealed: false },
      { type: 'commit', source: 'test.holdings.changes', sink: 'recording', rows: 50, pages: 1, isSealed: true },
      { type: 'commit', source: 'test.holdings.changes', sink: 'recording', rows: 50, pages: 1, isSealed: false },
      { type: 'commit', source: 'test.holdings.changes', sink: 'recording', rows: 50, pages: 1, isSealed: true },
    ]);
  });
});
