import type { Limit } from '@sluice/core';
import { describe, expect, test } from 'vitest';
import { Random } from '../../../../test/kit/random.js';
import { LocalLimiter } from '../../../core/src/http/limit/localLimiter.js';
import { encodeLimits } from '../../src/limiter/decodeLimits.js';
import { SharedLimiter } from '../../src/limiter/sharedLimiter.js';
import { LateClock, requestChains, type Observed } from './strictServer.js';
import { TwinServer } from './twinAccess.js';

interface Run {
  readonly limit: Limit;
  /** Ms from the write of the nth request of all to its arrival. */
  readonly arrive: (nth: number, random: Random) => number;
  readonly pages?: number;
  readonly isNew?: boolean;
  /** Happens after 3 s. */
  readonly disturb?: (server: TwinServer) => void;
}

const chains = 16;
const soon = (random: Random): number => random.int(0, 2_000) / 1_000;
const late = (random: Random): number => random.int(0, 60_000) / 1_000;

/** What a strict server observes of 16 chains of requests, by one process or by several that share a limiter. */
function observed(processes: number, { limit, arrive, pages = 25, isNew = false, disturb }: Run): Promise<Observed> {
  const random = new Random('arrivals');
  const clock = new LateClock(() => soon(random));
  const limits = encodeLimits([limit]);
  const server = new TwinServer(clock);
  server.delay = 0.4;
  if (isNew) server.knownFor = 3_000_000;
  else server.openLongAgo(limits);
  if (disturb) clock.after(3_000, () => disturb(server));
  const shared = (nth: number): SharedLimiter =>
    new SharedLimiter({
      name: 'api',
      limits,
      clock,
      worker: `w${nth}`,
      access: server.access(),
      concurrency: Infinity,
      waitForBook: 30_000,
      maxPause: 60_000,
    });
  const limiters =
    processes === 1 ? [new LocalLimiter([limit], clock)] : Array.from({ length: processes }, (_, nth) => shared(nth));
  const delays = { serve: 40, arrive: (nth: number) => arrive(nth, random) };
  return requestChains(clock, limiters, { chains: chains / processes, pages, limit, random, delays });
}

describe('K8 of processes that share a limiter, a strict server refuses none', () => {
  test.each([20, 50, 200])(
    'at %i a second, although connections open late, and the rate is kept',
    { tags: ['slow'] },
    async (requests) => {
      const limit: Limit = { requests, per: 1_000 };
      const run: Run = {
        limit,
        pages: Math.max(25, requests / 2),
        arrive: (nth, random) => (nth <= requests ? late(random) : soon(random)),
      };
      const shared = await observed(4, run);
      const local = await observed(1, run);
      expect([shared.refused, local.refused]).toEqual([0, 0]);
      expect(shared.share / local.share).toBeGreaterThan(0.98);
    },
  );

  test('although all requests of one second arrive late', async () => {
    const limit: Limit = { requests: 50, per: 1_000 };
    const arrive = (nth: number, random: Random): number => (nth > 130 && nth <= 180 ? late(random) : soon(random));
    expect(await observed(4, { limit, arrive })).toMatchObject({ refused: 0 });
  });

  test('although one request in twenty arrives late', async () => {
    const limit: Limit = { requests: 20, per: 500 };
    const arrive = (_: number, random: Random): number => (random.chance(0.05) ? late(random) : soon(random));
    expect(await observed(2, { limit, arrive })).toMatchObject({ refused: 0 });
  });

  test.each([
    ['with its data', (server: TwinServer) => (server.runId = 'another')],
    ['without them', (server: TwinServer) => (server.book = undefined)],
  ])('although Redis is started again %s, and all connections open again, late', async (_, restart) => {
    const limit: Limit = { requests: 20, per: 1_000 };
    let opening = 0;
    const arrive = (_nth: number, random: Random): number => ((opening -= 1) > 0 ? late(random) : soon(random));
    const disturb = (server: TwinServer): void => {
      restart(server);
      opening = limit.requests;
    };
    expect(await observed(4, { limit, arrive, disturb })).toMatchObject({ refused: 0 });
  });

  test('although the name is new, and then they begin at once', async () => {
    const limit: Limit = { requests: 20, per: 1_000 };
    const run: Run = { limit, isNew: true, arrive: (nth, random) => (nth <= 20 ? late(random) : soon(random)) };
    const { refused, arrivals } = await observed(4, run);
    expect(refused).toBe(0);
    expect(arrivals[0]).toBeLessThan(100);
  });
});
