import { describe, expect, test } from 'vitest';
import { onTestEnd } from '../../../../scripts/testScope.js';
import {
  createClient,
  memoryState,
  type Client,
  type Endpoint,
  type LimiterState,
  type Plugin,
} from '../../src/index.js';
import { bearer, rateLimitHeaders } from '../../src/define/index.js';
import type { EndpointOptions, Limiter, Permit } from '../../src/kit.js';
import { BothLimiters } from '../../src/http/limit/bothLimiters.js';
import { Budget, type BudgetStore } from '../../src/http/limit/budget.js';
import type { Limit } from '../../src/http/limit/limit.js';
import { FakeClock } from '../fakeClock.js';
import { ok, startServer } from './scriptedServer.js';

const idle: LimiterState = { queued: 0, running: 0, pausedFor: 0 };
const never = (): Promise<never> => new Promise(() => undefined);

/** A limiter that grants a permit when a test says so. */
function limiterByHand(started = () => true): { readonly shared: Limiter; readonly grants: (() => void)[] } {
  const grants: (() => void)[] = [];
  const acquire = (): Promise<Permit> =>
    new Promise((resolve) => grants.push(() => resolve({ started, release: () => undefined })));
  return { shared: { acquire, pause: () => undefined, state: idle }, grants };
}

/** The same, and what became of its permits. */
function countedLimiter() {
  const counts = { granted: 0, started: 0, unwritten: 0 };
  const { shared, grants } = limiterByHand();
  const acquire: Limiter['acquire'] = async (request) => {
    await shared.acquire(request);
    counts.granted += 1;
    return {
      started: () => (counts.started += 1) > 0,
      release: (use) => void (use === 'unwritten' && (counts.unwritten += 1)),
    };
  };
  const limiter: Limiter = { ...shared, acquire };
  return { shared: limiter, grants, counts };
}

/** The limits of an API in one of several processes that share a budget, within a limiter that others use, too. */
function budgeted(limit: Limit, shared: Limiter, { clock, store }: { clock: FakeClock; store: BudgetStore }) {
  const budget = Budget.opener({
    open: () => Promise.resolve(store),
    boot: { id: () => Promise.resolve('boot'), now: () => clock.monotonic() },
    clock,
    random: Math.random,
    warn: (message) => expect.fail(message),
  });
  return new BothLimiters([limit], shared, clock, { budget });
}

/** A client of an API, with a limiter of its own or one of that API. */
async function open(
  limiter: Partial<Limiter> & { readonly name?: string },
  isOfApi = false,
): Promise<{
  client: Client & { readonly shop: Endpoint };
  clock: FakeClock;
  get: (signal?: AbortSignal) => Promise<unknown>;
}> {
  const server = await startServer(ok());
  const clock = new FakeClock();
  const given = {
    acquire: () => Promise.resolve({ release: () => undefined }),
    pause: () => undefined,
    state: idle,
    ...limiter,
  };
  const plugin: Plugin<'shop', Endpoint> = {
    name: 'shop',
    setup: ({ endpoint }) => endpoint(server.url, { ...(isOfApi && { limiter: given }) }),
  };
  const client = createClient({ apiKey: false, clock, ...(!isOfApi && { limiter: given }) }).use(plugin);
  onTestEnd(() => void client.close().catch(() => undefined));
  return {
    client,
    clock,
    get: (signal) => client.shop.request({ route: 'shop.things', path: '/', query: {}, ...(signal && { signal }) }),
  };
}

describe('A2 the limiter of a client', () => {
  const secret = 'secret-of-the-shop';
  const rateLimit = { requests: 100, per: 1_000 };

  test.each<[string, EndpointOptions]>([
    ['credentials', { auth: bearer(secret) }],
    ['a limit', { rateLimit }],
    ['both', { auth: bearer(secret), rateLimit }],
    ['no limit', { auth: bearer(secret), rateLimit: false }],
    ['a quota', { auth: bearer(secret), quota: rateLimitHeaders() }],
  ])('also holds for an API that has %s of its own', async (_, options) => {
    const server = await startServer(ok());
    let granted = 0;
    const limiter = {
      acquire() {
        granted += 1;
        return Promise.resolve({ release: () => undefined });
      },
      pause: () => undefined,
      state: { ...idle, queued: 7 },
    };
    const plugin: Plugin<'shop', Endpoint> = { name: 'shop', setup: ({ endpoint }) => endpoint(server.url, options) };
    const client = createClient({ apiKey: false, limiter }).use(plugin);
    onTestEnd(() => client.close());
    await client.shop.request({ route: 'shop.things', path: '/', query: {} });
    expect(granted).toBe(1);
    expect(client.limiters.get('shop')).toMatchObject({ queued: 7 });
  });

  test('keeps the place of a request that waits for it for longer than timeouts.connect', async () => {
    const server = await startServer(ok());
    const clock = new FakeClock();
    const { shared, grants } = limiterByHand();
    const plugin: Plugin<'shop', Endpoint> = {
      name: 'shop',
      setup: ({ endpoint }) => endpoint(server.url, { rateLimit }),
    };
    const client = createClient({ apiKey: false, limiter: shared, clock, timeouts: { connect: 500 } }).use(plugin);
    onTestEnd(() => client.close());
    const response = client.shop.request({ route: 'shop.things', path: '/', query: {} });
    await expect.poll(() => grants.length).toBe(1);
    await clock.advance(20_000);
    grants[0]?.();
    await response;
    expect(grants).toHaveLength(1);
  });

  test('leaves an API with a quota its number of requests in parallel', async () => {
    const server = await startServer(ok());
    const { shared, grants } = limiterByHand();
    const quota = rateLimitHeaders({ concurrency: 2 });
    const plugin: Plugin<'shop', Endpoint> = {
      name: 'shop',
      setup: ({ endpoint }) => endpoint(server.url, { auth: bearer(secret), quota }),
    };
    const client = createClient({ apiKey: false, limiter: shared }).use(plugin);
    onTestEnd(() => client.close());
    const request = (): Promise<unknown> => client.shop.request({ route: 'shop.things', path: '/', query: {} });
    // Whether the API reports a quota is known with the first response.
    const first = request();
    await expect.poll(() => grants.length).toBe(1);
    grants[0]?.();
    await first;
    const three = [request(), request(), request()];
    await expect.poll(() => grants.length).toBe(3);
    expect(client.limiters.get('shop')).toMatchObject({ queued: 1 });
    grants[1]?.();
    await expect.poll(() => grants.length).toBe(4);
    for (const grant of grants) grant();
    await Promise.all(three);
  });

  test('L1 lets no more start than the own limit of an API, however late it grants', async () => {
    const clock = new FakeClock();
    const { shared, grants } = limiterByHand();
    const limiter = new BothLimiters([{ requests: 2, per: 1_000 }], shared, clock);
    const acquire = (): Promise<Permit>[] => [1, 2].map(() => limiter.acquire({ route: 'shop.things' }));
    const early = acquire();
    await clock.advance(60_000);
    const late = acquire();
    await clock.advance(60_000);
    expect(grants).toHaveLength(2);
    for (const grant of grants) grant();
    for (const permit of await Promise.all(early)) expect(permit.started?.()).toBe(true);
    await clock.advance(1_000);
    expect(grants).toHaveLength(2);
    await clock.advance(100);
    expect(grants).toHaveLength(4);
    for (const grant of grants) grant();
    for (const permit of await Promise.all(late)) expect(permit.started?.()).toBe(true);
  });

  test('counts no start in the own limit of an API that it refuses', async () => {
    const clock = new FakeClock();
    const { shared, grants } = limiterByHand(() => false);
    const limiter = new BothLimiters([{ requests: 1, per: 1_000 }], shared, clock);
    const refused = limiter.acquire({ route: 'shop.things' });
    await clock.advance(0);
    grants[0]?.();
    const permit = await refused;
    expect(permit.started?.()).toBe(false);
    permit.release('unwritten');
    void limiter.acquire({ route: 'shop.things' });
    await clock.advance(0);
    expect(grants).toHaveLength(2);
  });
});

describe('A2 a budget of an API within a limiter that grants slowly', () => {
  const route = 'shop.things';
  const acquired = async (limiter: Limiter): Promise<unknown> => (await limiter.acquire({ route })).started?.();

  test('is reserved again for a request whose slice ended while it waited, so that each permit counts', async () => {
    const clock = new FakeClock();
    const { shared, grants, counts } = countedLimiter();
    const limiter = budgeted({ requests: 100, per: 10_000 }, shared, { clock, store: memoryState() });
    const requests = Array.from({ length: 10 }, () => acquired(limiter));
    await expect.poll(() => grants.length).toBe(10);
    for (const [nth, request] of requests.entries()) {
      await clock.advance(400);
      grants[nth]?.();
      expect(await request).toBe(true);
    }
    expect(counts).toEqual({ granted: 10, started: 10, unwritten: 0 });
    expect(limiter.state.budget).toMatchObject({ left: 90 });
  });

  test('that others have used up meanwhile leaves the permit of that limiter to them', async () => {
    const clock = new FakeClock();
    const store = memoryState();
    const limit = { requests: 5, per: 60_000 };
    const { shared, grants, counts } = countedLimiter();
    const limiter = budgeted(limit, shared, { clock, store });
    const requests = [acquired(limiter), acquired(limiter)];
    await expect.poll(() => grants.length).toBe(2);
    const immediate = { ...shared, acquire: () => Promise.resolve({ release: () => undefined }) };
    const other = budgeted(limit, immediate, { clock, store });
    // As many as both have not reserved.
    for (let nth = 0; nth < 3; nth += 1) expect(await acquired(other)).toBe(true);
    await clock.advance(2_000);
    grants[0]?.();
    expect(await requests[0]).toBe(true);
    expect(await acquired(other)).toBe(true);
    grants[1]?.();
    await expect.poll(() => counts).toEqual({ granted: 2, started: 1, unwritten: 1 });
    await expect.poll(() => limiter.state).toMatchObject({ queued: 1, budget: { left: 0 } });
    while (grants.length < 3) await clock.advance(1_000);
    expect(clock.monotonic()).toBeGreaterThan(60_000);
    grants[2]?.();
    expect(await requests[1]).toBe(true);
    expect(counts).toEqual({ granted: 3, started: 2, unwritten: 1 });
  });

  test('counts no start in that limiter if its slice ends before the request is written', async () => {
    const clock = new FakeClock();
    const { shared, grants, counts } = countedLimiter();
    const limiter = budgeted({ requests: 100, per: 10_000 }, shared, { clock, store: memoryState() });
    const request = limiter.acquire({ route });
    await expect.poll(() => grants.length).toBe(1);
    grants[0]?.();
    const permit = await request;
    await clock.advance(400);
    expect(permit.started?.()).toBe(false);
    permit.release('unwritten');
    expect(counts).toEqual({ granted: 1, started: 0, unwritten: 1 });
  });

  test('lets a request go that is aborted while its slice is reserved again', async () => {
    const clock = new FakeClock();
    const memory = memoryState();
    let isHanging = false;
    const store = { ...memory, load: (name: string) => (isHanging ? never() : memory.load(name)) };
    const { shared, grants, counts } = countedLimiter();
    const limiter = budgeted({ requests: 100, per: 10_000 }, shared, { clock, store });
    const stop = new AbortController();
    const outcome = expect(limiter.acquire({ route, signal: stop.signal })).rejects.toThrow('not wanted any more');
    await expect.poll(() => grants.length).toBe(1);
    await clock.advance(400);
    isHanging = true;
    grants[0]?.();
    await expect.poll(() => counts.granted).toBe(1);
    stop.abort(new Error('not wanted any more'));
    await outcome;
    expect(counts).toEqual({ granted: 1, started: 0, unwritten: 1 });
    expect(limiter.state).toMatchObject({ queued: 0, running: 0 });
  });
});

describe('T3 a limiter of somebody else', () => {
  test.each([
    [{}, false, "the client's limiter granted nothing within 180000 ms"],
    [{}, true, 'the limiter of shop granted nothing within 180000 ms'],
    [{ name: 'mine' }, false, 'the limiter "mine" granted nothing within 180000 ms'],
  ])(
    'that never grants a permit (%j, of the API: %s) ends the request after timeouts.total',
    async (named, isOfApi, said) => {
      const { clock, get } = await open({ ...named, acquire: never }, isOfApi);
      const outcome = expect(get()).rejects.toMatchObject({
        code: 'timeout',
        message: expect.stringContaining(said) as string,
      });
      await clock.asked(180_000);
      await clock.advance(180_000);
      await outcome;
      expect(clock.pending).toEqual([]);
    },
  );

  test.each<[string, LimiterState]>([
    ['a pause', { ...idle, pausedFor: 1 }],
    ['a rate in use', { ...idle, rate: { used: 1, limit: 5, per: 86_400_000 } }],
  ])('may let a request wait for longer while it shows %s', async (_what, state) => {
    let grant = (): void => undefined;
    const acquire: Limiter['acquire'] = () =>
      new Promise((resolve) => (grant = () => resolve({ release: () => undefined })));
    const { clock, get } = await open({ acquire, state });
    const request = get();
    for (let nth = 0; nth < 5; nth += 1) {
      await clock.asked(180_000);
      await clock.advance(180_000);
    }
    grant();
    await expect(request).resolves.toBeDefined();
  });

  test('that overlooks an abort has the permit that it grants then back at once, unused', async () => {
    let grant: ((permit: Permit) => void) | undefined;
    const { get, client } = await open({ acquire: () => new Promise((resolve) => (grant = resolve)) });
    const stop = new AbortController();
    const outcome = expect(get(stop.signal)).rejects.toThrow('not wanted any more');
    await expect.poll(() => grant).toBeDefined();
    stop.abort(new Error('not wanted any more'));
    await outcome;
    const released: unknown[] = [];
    grant?.({ release: (use) => released.push(use) });
    await expect.poll(() => released).toEqual(['unwritten']);
    await client.close();
  });

  test.each<[string, unknown]>([
    ['nothing', undefined],
    ['what is no permit', {}],
  ])('is named if it grants %s', async (_what, permit) => {
    const { get } = await open({ acquire: () => Promise.resolve(permit as Permit) });
    await expect(get()).rejects.toMatchObject({
      code: 'plugin',
      summary: "The client's limiter failed: its acquire has to return a permit, which has a release().",
    });
  });

  test.each([
    ['an error', new Error('boom'), "The client's limiter failed: boom."],
    ['null', null, "The client's limiter failed: null."],
    ['a text', 'no room', "The client's limiter failed: no room."],
  ])('is named if it fails with %s', async (_what, reason, said) => {
    const rejecting = await open({
      acquire: async () => {
        throw reason as Error;
      },
    });
    await expect(rejecting.get()).rejects.toMatchObject({
      code: 'plugin',
      message: expect.stringContaining(said) as string,
    });
    const throwing = await open({
      acquire: () => {
        throw reason as Error;
      },
    });
    await expect(throwing.get()).rejects.toMatchObject({ message: expect.stringContaining(said) as string });
    const closing = await open({
      close: async () => {
        throw reason as Error;
      },
    });
    await expect(closing.client.close()).rejects.toMatchObject({ message: expect.stringContaining(said) as string });
  });

  test('whose close never settles does not keep the client from closing', async () => {
    const { client, clock } = await open({ close: never }, true);
    const outcome = expect(client.close()).rejects.toThrow('The limiter of shop took longer than 30 s to close.');
    await clock.asked(30_000);
    await clock.advance(30_000);
    await outcome;
  });
});
