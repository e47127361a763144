import { createClient, type Limit } from '@sluice/core';
import type { Limiter, Permit } from '@sluice/core/kit';
import { ManualClock } from '@sluice/testing';
import { describe, expect, test } from 'vitest';
import { Random } from '../../../../test/kit/random.js';
import { encodeLimits } from '../../src/limiter/decodeLimits.js';
import { LimiterUnavailableError } from '../../src/index.js';
import { SharedLimiter } from '../../src/limiter/sharedLimiter.js';
import { answerCall } from '../../../../test/kit/limiterTwin.js';
import type { LimiterCall, LimiterReply } from '../../src/limiter/limiterCall.js';
import { silent, TwinServer } from './twinAccess.js';

const limit: Limit = { requests: 50, per: 1_000 };

/** Processes that want to start requests all the time, and when they did. */
class Fleet {
  readonly clock = new ManualClock(() => new Promise((resolve) => setImmediate(resolve)));
  readonly server = new TwinServer(this.clock);
  readonly limiters: SharedLimiter[] = [];
  readonly starts: { readonly worker: number; readonly at: number }[] = [];
  readonly errors: unknown[] = [];
  /** Permits that were too old when their requests could be written. */
  tooOld = 0;
  /** Ms from a permit to the write of its request. */
  connecting = (): number => 0;
  /** Processes that were killed. */
  readonly dead = new Set<string>();

  constructor(workers: number, { limits = encodeLimits([limit]), isOpen = true } = {}) {
    if (isOpen) this.server.openLongAgo(limits);
    for (let nth = 0; nth < workers; nth += 1) this.limiters.push(this.limiter(`w${nth}`, limits));
  }

  limiter(worker: string, limits: string): SharedLimiter {
    const access = this.server.access();
    const call = async (said: LimiterCall): Promise<LimiterReply> =>
      this.dead.has(worker) ? new Promise<never>(() => undefined) : access.call(said);
    return new SharedLimiter({
      name: 'api',
      limits,
      concurrency: Infinity,
      clock: this.clock,
      worker,
      access: { ...access, call },
      waitForBook: 30_000,
      maxPause: 60_000,
    });
  }

  /** Each of its requests takes 60 ms; `parallel` of them are under way or wait. */
  work(worker: number, parallel = 1): void {
    const again = (): void => {
      this.limiters[worker]?.acquire({ route: 'any' }).then(
        (permit: Permit) => {
          const write = (): void => {
            if (permit.started?.() === false) this.tooOld += 1;
            else this.starts.push({ worker, at: this.clock.monotonic() });
          };
          const connecting = this.connecting();
          if (connecting > 0) this.clock.after(connecting, write);
          else write();
          this.clock.after(connecting + 60, () => {
            permit.release();
            again();
          });
        },
        (error: unknown) => this.errors.push(error),
      );
    };
    for (let nth = 0; nth < parallel; nth += 1) again();
  }

  workAll(parallel = 1): void {
    this.limiters.forEach((_, nth) => this.work(nth, parallel));
  }

  /** The most starts in any `per` ms. */
  worstWindow(per = 1_000): number {
    const times = this.starts.map(({ at }) => at).sort((a, b) => a - b);
    return Math.max(0, ...times.map((from) => times.filter((at) => at >= from && at < from + per).length));
  }

  /** Starts per second from `from` to `to` ms. */
  rate(from: number, to: number): number {
    return (1_000 * this.starts.filter(({ at }) => at >= from && at < to).length) / (to - from);
  }
}

describe('K8 processes that share a limiter', () => {
  test.each([
    [1, 0],
    [4, 6],
    [4, 15],
    [10, 6],
  ])('%i of them, %i ms from Redis, start as many as the limit allows, and no more', async (workers, delay) => {
    const fleet = new Fleet(workers);
    fleet.server.delay = delay;
    fleet.workAll(4);
    await fleet.clock.advance(10_000);
    expect(fleet.worstWindow()).toBeLessThanOrEqual(50);
    expect(fleet.rate(2_000, 10_000)).toBeGreaterThan(delay > 10 ? 46 : 47.5);
    expect(fleet.errors).toEqual([]);
  });

  test(
    'count a start when its request is written, and let none write with a permit of 250 ms',
    { tags: ['slow'] },
    async () => {
      const fleet = new Fleet(4);
      const random = new Random('connecting');
      fleet.connecting = () => (random.chance(0.3) ? random.int(0, 400) : 0);
      fleet.server.delay = 4;
      fleet.workAll(6);
      await fleet.clock.advance(10_000);
      expect(fleet.tooOld).toBeGreaterThan(10);
      expect(fleet.worstWindow()).toBeLessThanOrEqual(50);
      expect(fleet.rate(2_000, 10_000)).toBeGreaterThan(30);
    },
  );

  test('give a permit back whose request will not be written', async () => {
    const fleet = new Fleet(1, { limits: encodeLimits([{ requests: 1, per: 5_000 }]) });
    const [limiter] = fleet.limiters;
    const first = limiter?.acquire({ route: 'any' });
    await fleet.clock.advance(10);
    const permit = await first;
    await fleet.clock.advance(300);
    expect(permit?.started?.()).toBe(false);
    permit?.release('unwritten');
    const second = limiter?.acquire({ route: 'any' }).then((next) => next.started?.());
    await fleet.clock.advance(1_000);
    expect(await second).toBe(true);
  });

  test(
    '100 of them make at most two calls for each start, and none gets less than half its share',
    { tags: ['slow'] },
    async () => {
      const fleet = new Fleet(100);
      fleet.server.delay = 2;
      fleet.workAll();
      // By then it knows how long processes usually take to call and to start.
      await fleet.clock.advance(6_000);
      const calls = fleet.server.calls;
      const starts = fleet.starts.length;
      await fleet.clock.advance(10 * 1_013);
      expect((fleet.server.calls - calls) / (fleet.starts.length - starts)).toBeLessThanOrEqual(2);
      const each = fleet.limiters.map(
        (_, nth) => fleet.starts.slice(starts).filter(({ worker }) => worker === nth).length,
      );
      expect(Math.min(...each)).toBeGreaterThanOrEqual((fleet.starts.length - starts) / 100 / 2);
      expect(fleet.worstWindow()).toBeLessThanOrEqual(50);
    },
  );

  test.each([
    ['forward by 45 ms', 45_000],
    ['forward by 6 ms', 6_000],
    ['forward by 3 ms', 3_000],
    ['back by 45 ms', -45_000],
    ['forward by 2 s', 2_000_000],
    ['forward by an hour', 3_600_000_000],
    ['back by 2 s', -2_000_000],
    ['back by an hour', -3_600_000_000],
  ])('start no more when the clock of Redis is set %s, and go on', async (_, step) => {
    const fleet = new Fleet(4);
    fleet.workAll(4);
    await fleet.clock.advance(2_500);
    fleet.server.stepped = step;
    await fleet.clock.advance(7_500);
    expect(fleet.worstWindow()).toBeLessThanOrEqual(50);
    expect(fleet.rate(6_000, 10_000)).toBeGreaterThan(47);
  });

  test.each([2_000, 2_250, 2_500, 2_750])(
    'go on when the clock of Redis is set back by an hour after %i ms, before each start of a small limit was reported',
    async (ms) => {
      const fleet = new Fleet(2, { limits: encodeLimits([{ requests: 2, per: 1_000 }]) });
      fleet.workAll(2);
      await fleet.clock.advance(ms);
      fleet.server.stepped = -3_600_000_000;
      await fleet.clock.advance(10_000 - ms);
      expect(fleet.worstWindow()).toBeLessThanOrEqual(2);
      expect(fleet.rate(6_000, 10_000)).toBeGreaterThan(1.5);
    },
  );

  test.each([
    ['loses its data', (server: TwinServer) => (server.book = undefined)],
    [
      'is replaced by a replica that is behind',
      (server: TwinServer) => {
        server.openLongAgo(encodeLimits([limit]));
        server.runId = 'another';
      },
    ],
    ['is started again with its data', (server: TwinServer) => (server.runId = 'another')],
  ])('start no more when Redis %s, and go on', async (_, disturb) => {
    const fleet = new Fleet(4);
    fleet.workAll(4);
    await fleet.clock.advance(2_500);
    disturb(fleet.server);
    await fleet.clock.advance(7_500);
    expect(fleet.worstWindow()).toBeLessThanOrEqual(50);
    expect(fleet.rate(5_000, 10_000)).toBeGreaterThan(47);
  });

  test('use a reply that comes late, and count it from its start', async () => {
    const fleet = new Fleet(2);
    fleet.server.delay = 110;
    fleet.workAll(20);
    await fleet.clock.advance(10_000);
    expect(fleet.worstWindow()).toBeLessThanOrEqual(50);
    expect(fleet.rate(3_000, 10_000)).toBeGreaterThan(30);
    expect(fleet.errors).toEqual([]);
  });

  test('fail with the round trip, if replies come too late ten times in a row', async () => {
    const fleet = new Fleet(1);
    fleet.server.delay = 150;
    fleet.work(0);
    await fleet.clock.advance(10_000);
    expect(fleet.starts).toEqual([]);
    expect(fleet.errors[0]).toBeInstanceOf(LimiterUnavailableError);
    expect(fleet.errors[0]).toMatchObject({
      code: 'network',
      message: expect.stringContaining('10 permits in a row came more than 250 ms after they were asked for') as string,
    });
  });

  test('wait for a window in a new Redis, since its past is unknown', async () => {
    const fleet = new Fleet(2, { isOpen: false });
    fleet.workAll();
    await fleet.clock.advance(1_200);
    expect(fleet.starts).toEqual([]);
    await fleet.clock.advance(300);
    expect(fleet.starts.length).toBeGreaterThan(0);
  });

  test('give the place of one that died to the others', async () => {
    const fleet = new Fleet(4);
    fleet.workAll(20);
    await fleet.clock.advance(1_500);
    // It has a ticket, but never calls again.
    fleet.dead.add('w0');
    await fleet.clock.advance(8_500);
    expect(fleet.rate(3_000, 10_000)).toBeGreaterThan(47);
  });

  test('wait together while the API wants a pause, for at most maxPause', async () => {
    const fleet = new Fleet(2);
    fleet.workAll(2);
    await fleet.clock.advance(500);
    const before = fleet.starts.length;
    fleet.limiters[0]?.pause(3_000);
    await fleet.clock.advance(2_900);
    // Those of the other process that were granted before it heard of the pause.
    expect(fleet.starts.length - before).toBeLessThanOrEqual(2);
    expect(fleet.limiters[1]?.state.pausedFor).toBeGreaterThan(0);
    await fleet.clock.advance(500);
    expect(fleet.starts.length - before).toBeGreaterThan(2);
    fleet.limiters[1]?.pause(10_000_000);
    expect(fleet.limiters[1]?.state.pausedFor).toBe(60_000);
  });

  test('show what all of them do', async () => {
    const fleet = new Fleet(2, { limits: encodeLimits([{ requests: 1, per: 1_000 }]) });
    fleet.workAll(3);
    await fleet.clock.advance(3_000);
    const [first, second] = fleet.limiters.map(({ state }) => state.queued + state.running);
    expect([first, second]).toEqual([6, 6]);
  });

  test('refuse other limits under the same name, until an operator changes them for all', async () => {
    const fleet = new Fleet(1);
    fleet.work(0);
    await fleet.clock.advance(100);
    const other = encodeLimits([{ requests: 60, per: 1_000 }]);
    await expect(fleet.limiter('other', other).acquire({ route: 'any' })).rejects.toMatchObject({
      code: 'config',
      message: expect.stringContaining('50 per 1000 ms, not 60 per 1000 ms') as string,
    });
    answerCall(fleet.server.book, { ...silent, replace: other }, { time: fleet.server.time, runId: 'first' });
    await fleet.clock.advance(5_000);
    expect(fleet.errors).toEqual([]);
    const adopting = fleet.limiter('adopting', '').acquire({ route: 'any' });
    await fleet.clock.advance(1_500);
    await expect(adopting).resolves.toBeDefined();
  });

  test('refuse each request while another has opened the book with other limits', async () => {
    const fleet = new Fleet(1);
    fleet.work(0, 60);
    await fleet.clock.advance(2_000);
    fleet.server.openLongAgo(encodeLimits([{ requests: 60, per: 1_000 }]));
    await fleet.clock.advance(2_000);
    expect(fleet.errors.length).toBeGreaterThan(1);
    await expect(fleet.limiters[0]?.acquire({ route: 'any' })).rejects.toThrow('60 per 1000 ms, not 50 per 1000 ms');
  });

  test('K9 open a book that was lost with the limits that it had, if they were given none', async () => {
    const fleet = new Fleet(2, { isOpen: false });
    const adopting = fleet.limiter('adopting', '');
    fleet.work(0);
    await fleet.clock.advance(2_000);
    await adopting.acquire({ route: 'any' });
    fleet.dead.add('w0');
    fleet.server.book = undefined;
    const next = adopting.acquire({ route: 'any' });
    await fleet.clock.advance(2_000);
    await expect(next).resolves.toBeDefined();
    expect(fleet.server.book).toMatchObject({ inForce: encodeLimits([limit]) });
  });

  test('refuse to guess limits that nobody gave', async () => {
    const fleet = new Fleet(0, { isOpen: false });
    await expect(fleet.limiter('w', '').acquire({ route: 'any' })).rejects.toThrow('has no limits yet');
  });

  test('K9 fail after 30 s without Redis, and run nothing meanwhile', async () => {
    const fleet = new Fleet(1);
    fleet.work(0);
    await fleet.clock.advance(1_000);
    const before = fleet.starts.length;
    fleet.server.isDown = true;
    await fleet.clock.advance(29_000);
    expect(fleet.limiters[0]?.state.outage).toEqual({ cause: 'no connection to Redis', for: expect.any(Number) });
    expect(fleet.errors).toEqual([]);
    await fleet.clock.advance(3_000);
    expect(fleet.starts.length - before).toBeLessThanOrEqual(1);
    expect(fleet.errors).toMatchObject([{ code: 'network', details: { limiter: 'api' } }]);
    fleet.server.isDown = false;
    fleet.work(0);
    await fleet.clock.advance(2_000);
    expect(fleet.starts.length - before).toBeGreaterThan(5);
  });

  test('K9 a client closes its limiter', async () => {
    let closed = 0;
    const limiter: Limiter = {
      acquire: () => Promise.reject(new Error('not asked')),
      pause: () => undefined,
      state: { queued: 0, running: 0, pausedFor: 0 },
      close: () => Promise.resolve(void (closed += 1)),
    };
    const client = createClient({ apiKey: 'key-of-a-test', limiter });
    await client.close();
    expect(closed).toBe(1);
  });
});
