import { describe, expect, onTestFinished, test } from 'vitest';
import { createClient, type ClientOptions, type Hooks } from '../../src/index.js';
import type { LimiterEvent } from '../../src/kit.js';
import { LocalLimiter } from '../../src/http/limit/localLimiter.js';
import type { LimiterState } from '../../src/http/limit/limiterTypes.js';
import { LimiterReports } from '../../src/http/limit/limiterReports.js';
import { FakeClock } from '../fakeClock.js';
import { canary } from './canary.js';
import { testApi } from './children/testApi.js';
import { answer, ok, startServer, type Answer } from './scriptedServer.js';

const request = { route: 'test.route', path: '/things', query: {} };

async function open(answers: readonly Answer[], hooks: Hooks, options: Partial<ClientOptions> = {}) {
  const server = await startServer(...answers);
  const client = createClient({ apiKey: canary, retry: { baseDelay: 600 }, random: () => 0.99, ...options })
    .use(testApi(server.url))
    .use({ name: 'hooked', hooks });
  onTestFinished(() => client.close());
  return client;
}

/** Reports on a clock that only moves by hand, of a limiter of 3 starts per second. */
function reported(isObserved = () => true) {
  const clock = new FakeClock();
  const limiter = new LocalLimiter([{ requests: 3, per: 1_000 }], clock);
  const seen: (LimiterEvent & { readonly at: number })[] = [];
  let read = 0;
  const counted = {
    acquire: limiter.acquire.bind(limiter),
    pause: limiter.pause.bind(limiter),
    get state(): LimiterState {
      read += 1;
      return limiter.state;
    },
  };
  const reports = new LimiterReports({
    clock,
    isObserved,
    apisOf: () => ['test'],
    emit: (_type, make) => seen.push({ ...make(), at: clock.monotonic() }),
  });
  return { clock, limiter: counted, reports, seen, read: () => read };
}

describe('U1 limiter events', () => {
  test('U1 tell the use, the queue and the pause with its cause', async () => {
    const seen: LimiterEvent[] = [];
    const client = await open(
      [answer(429, '', { 'retry-after': '1' }), ok()],
      { limiter: (event) => seen.push(event) },
      { rateLimit: { requests: 5, per: 1_000 } },
    );
    await client.api.request(request);
    expect(seen[0]).toEqual({
      type: 'limiter',
      apis: ['api'],
      used: 1,
      limit: 5,
      per: 1_000,
      queued: 0,
      running: 1,
      paused: 0,
    });
    const pause = seen.find(({ paused }) => paused > 0);
    expect(pause).toMatchObject({ used: 1, limit: 5, cause: 'retry-after' });
    expect(pause?.paused).toBeLessThanOrEqual(1_000);
    expect(client.limiter.rate).toMatchObject({ limit: 5, per: 1_000 });
    for (const event of seen) expect(Object.isFrozen(event) && Object.isFrozen(event.apis)).toBe(true);
  });

  test('U1 tell a back-off that the client has chosen, and no limit where there is none', async () => {
    const seen: LimiterEvent[] = [];
    const client = await open([answer(429), ok()], { limiter: (event) => seen.push(event) }, { rateLimit: false });
    await client.api.request(request);
    expect(seen.find(({ paused }) => paused > 0)).toMatchObject({ limit: Infinity, cause: 'back-off' });
    expect(client.limiter.rate).toBeUndefined();
  });

  test('U1 come four times a second at most, however many requests start, and the last one tells how it ended', async () => {
    const { clock, limiter, reports, seen } = reported();
    for (let nth = 0; nth < 40; nth += 1) {
      void limiter.acquire({ route: 'test' }).then((permit) => {
        reports.changed(limiter);
        permit.release();
        reports.changed(limiter);
      });
      reports.changed(limiter);
      await clock.advance(50);
    }
    for (const [nth, { at }] of seen.entries())
      expect(at - (seen[nth - 1]?.at ?? -Infinity)).toBeGreaterThanOrEqual(250);
    expect(seen.length).toBeGreaterThan(6);
    for (const { used } of seen) expect(used).toBeLessThanOrEqual(3);
    expect(seen.at(-1)?.queued).toBeGreaterThan(20);
    // Bottleneck has timers of its own.
    while (limiter.state.queued > 0) await clock.advance(500);
    await clock.advance(500);
    expect(seen.at(-1)).toMatchObject({ queued: 0, running: 0 });
    expect(clock.pending).toEqual([]);
  });

  test('U1 name no cause that is over', async () => {
    const { clock, limiter, reports, seen } = reported();
    limiter.pause(500);
    reports.changed(limiter, 'retry-after');
    await clock.advance(600);
    reports.changed(limiter);
    await clock.advance(300);
    limiter.pause(500);
    reports.changed(limiter);
    expect(seen.map(({ paused, cause }) => [paused, cause])).toEqual([
      [500, 'retry-after'],
      [0, undefined],
      [500, 'unknown'],
    ]);
  });

  test('U1 cost nothing if nobody receives them: no state is read, no timer set', () => {
    const { clock, limiter, reports, seen, read } = reported(() => false);
    for (let nth = 0; nth < 10; nth += 1) reports.changed(limiter, 'quota');
    expect([seen.length, read(), clock.pending]).toEqual([0, 0, []]);
  });

  test('U1 leave no timer behind when the client closes', () => {
    const { clock, limiter, reports, seen } = reported();
    reports.changed(limiter);
    reports.changed(limiter);
    expect(clock.pending).toEqual([250]);
    reports.close();
    reports.changed(limiter);
    expect(clock.pending).toEqual([]);
    expect(seen).toHaveLength(1);
  });
});
