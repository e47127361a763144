import { getEventListeners } from 'node:events';
import Bottleneck from 'bottleneck/light.js';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { LocalLimiter, unlimited } from '../../src/http/limit/localLimiter.js';
import { ConfigError, type Limit, type LimiterState } from '../../src/index.js';
import type { Limiter, Permit } from '../../src/kit.js';
import { FakeClock } from '../fakeClock.js';

// Bottleneck's own timers and its clock are turned by vitest, those of ours by hand.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date'] });
});
afterEach(() => {
  vi.useRealTimers();
});

// Bottleneck needs a few ms of its own for each job. It gets these, and no more: what it puts off for longer is late.
const turnedByHand = (): FakeClock => new FakeClock(() => vi.advanceTimersByTimeAsync(100));

/** A limiter, and when it let whom begin. */
class Trial {
  readonly clock = turnedByHand();
  readonly limiter: Limiter;
  readonly starts: { readonly nth: number; readonly route: string; readonly at: number }[] = [];
  readonly permits: Permit[] = [];
  readonly aborts: AbortController[] = [];
  readonly aborted = new Set<number>();
  maxRunning = 0;
  /** Whether a request is written as soon as it may be. */
  isWritten = true;

  constructor(...limits: readonly Limit[]) {
    this.limiter = new LocalLimiter(limits, this.clock);
  }

  /** Asks for a turn, and keeps it until {@link release}. */
  ask(route = 'any'): void {
    const nth = this.aborts.length;
    const abort = new AbortController();
    this.aborts.push(abort);
    this.limiter.acquire({ route, signal: abort.signal }).then(
      (permit) => {
        if (this.isWritten) permit.started?.();
        this.starts.push({ nth, route, at: this.clock.monotonic() });
        this.permits.push(permit);
        this.maxRunning = Math.max(this.maxRunning, this.permits.length);
      },
      () => this.aborted.add(nth),
    );
  }

  release(count = Infinity): void {
    for (const permit of this.permits.splice(0, count)) permit.release();
  }

  get times(): number[] {
    return this.starts.map((start) => start.at);
  }

  /** The wall clock, ours and Bottleneck's. */
  jump(ms: number): void {
    this.clock.jump(ms);
    vi.setSystemTime(Date.now() + ms);
  }
}

function asks(trial: Trial, count: number, route?: string): void {
  for (let nth = 0; nth < count; nth += 1) trial.ask(route);
}

describe('a limiter', () => {
  test('L1 lets as many begin as it may, and the next ones when the first ones have left the window', async () => {
    const trial = new Trial({ requests: 3, per: 1_000 });
    asks(trial, 7);
    await trial.clock.advance(10_000);
    // 13 ms more than asked for, since requests don't arrive as evenly as they start.
    expect(trial.times).toEqual([0, 0, 0, 1_013, 1_013, 1_013, 2_026]);
  });

  test('L1 counts a start when its request is written, and wakes who waits for that', async () => {
    const trial = new Trial({ requests: 3, per: 987 });
    trial.isWritten = false;
    asks(trial, 6);
    await trial.clock.advance(40);
    trial.permits[1]?.started?.();
    await trial.clock.advance(60);
    trial.permits[0]?.started?.();
    // A second word changes nothing.
    trial.permits[1]?.started?.();
    await trial.clock.advance(5_900);
    // The third is still connecting: its place is kept for it.
    expect(trial.times).toEqual([0, 0, 0, 1_040, 1_100]);
    trial.permits[2]?.started?.();
    await trial.clock.advance(999);
    expect(trial.times).toHaveLength(5);
    await trial.clock.advance(1);
    expect(trial.times).toEqual([0, 0, 0, 1_040, 1_100, 7_000]);
  });

  test('L1 gives the place of a request that will not be written to the next one at once', async () => {
    const trial = new Trial({ requests: 3, per: 987 });
    trial.isWritten = false;
    asks(trial, 5);
    await trial.clock.advance(40);
    trial.permits[2]?.release('unwritten');
    await trial.clock.advance(0);
    expect(trial.times).toEqual([0, 0, 0, 40]);
    // What was written counts, whatever is said then.
    trial.permits[3]?.started?.();
    trial.permits[3]?.release('unwritten');
    await trial.clock.advance(500);
    expect(trial.times).toHaveLength(4);
  });

  test('L1 counts a request of whose write nothing is said until its end', async () => {
    const trial = new Trial({ requests: 1, per: 987 });
    trial.isWritten = false;
    asks(trial, 2);
    await trial.clock.advance(3_000);
    trial.release();
    await trial.clock.advance(2_000);
    expect(trial.times).toEqual([0, 4_000]);
  });

  test('L1 keeps the place of a request no longer than it may connect, and counts it if it is written later', async () => {
    const trial = new Trial({ requests: 1, per: 987 });
    trial.isWritten = false;
    asks(trial, 3);
    await trial.clock.advance(11_500);
    expect(trial.times).toEqual([0, 11_000]);
    trial.permits[1]?.started?.();
    trial.permits[0]?.started?.();
    await trial.clock.advance(2_000);
    expect(trial.times).toEqual([0, 11_000, 12_500]);
  });

  test('L1 counts a start until its response, which it arrived before', async () => {
    const trial = new Trial({ requests: 2, per: 1_000 });
    asks(trial, 4);
    await trial.clock.advance(5);
    for (const permit of trial.permits.splice(0)) {
      permit.observe?.({ status: 200, headers: {} });
      permit.release();
    }
    await trial.clock.advance(3_000);
    // Without responses, a margin of 13 ms is added.
    expect(trial.times).toEqual([0, 0, 1_005, 1_005]);
    asks(trial, 2);
    await trial.clock.advance(0);
    asks(trial, 1);
    await trial.clock.advance(2_000);
    expect(trial.times.slice(4)).toEqual([3_005, 3_005, 4_018]);
  });

  test('L1 counts a start later whose response came later than others do, as it may have arrived late', async () => {
    const trial = new Trial({ requests: 2, per: 1_000 });
    asks(trial, 4);
    await trial.clock.advance(53);
    trial.permits[1]?.observe?.({ status: 200, headers: {} });
    await trial.clock.advance(1_500);
    expect(trial.times).toEqual([0, 0, 1_013, 1_053]);
  });

  test('L1 forgets a response to what has left the window, and to what was not written', async () => {
    const trial = new Trial({ requests: 1, per: 987 });
    trial.isWritten = false;
    asks(trial, 3);
    await trial.clock.advance(10);
    trial.permits[0]?.release('unwritten');
    trial.permits[0]?.observe?.({ status: 200, headers: {} });
    await trial.clock.advance(0);
    trial.permits[1]?.started?.();
    await trial.clock.advance(1_500);
    trial.permits[1]?.observe?.({ status: 200, headers: {} });
    expect(trial.times).toEqual([0, 10, 1_010]);
    trial.permits[2]?.started?.();
    expect(trial.limiter.state.rate).toMatchObject({ used: 1 });
  });

  test('L1 spreads what is beyond a burst', async () => {
    const trial = new Trial({ requests: 10, per: 987, burst: 2 });
    asks(trial, 7);
    await trial.clock.advance(10_000);
    expect(trial.times).toEqual([0, 0, 200, 200, 400, 400, 600]);
  });

  test('L1 goes at an even pace with a burst of 1', async () => {
    const trial = new Trial({ requests: 10, per: 987, burst: 1 });
    asks(trial, 4);
    await trial.clock.advance(10_000);
    expect(trial.times).toEqual([0, 100, 200, 300]);
  });

  test('L1 counts what a route costs', async () => {
    const trial = new Trial({ requests: 5, per: 987, costs: { dear: 3, free: 0 } });
    for (const route of ['dear', 'any', 'free', 'any', 'dear', 'free']) trial.ask(route);
    await trial.clock.advance(10_000);
    expect(trial.times).toEqual([0, 0, 0, 0, 1_000, 1_000]);
  });

  test('L1 keeps to several limits together', async () => {
    const trial = new Trial({ requests: 2, per: 87 }, { requests: 5, per: 987 });
    asks(trial, 7);
    await trial.clock.advance(10_000);
    expect(trial.times).toEqual([0, 0, 100, 100, 200, 1_000, 1_000]);
  });

  test('L1 neither bursts after a stall nor waits for what it missed', async () => {
    const trial = new Trial({ requests: 2, per: 987 });
    asks(trial, 6);
    await trial.clock.advance(500);
    await trial.clock.stall(5_000);
    await trial.clock.advance(3_000);
    expect(trial.times).toEqual([0, 0, 5_500, 5_500, 6_500, 6_500]);
  });

  test('L1 never lets more begin than any of its limits allows, in order, whatever comes in between', async () => {
    const limit = fc.record(
      {
        requests: fc.integer({ min: 3, max: 8 }),
        per: fc.integer({ min: 10, max: 2_000 }),
        burst: fc.integer({ min: 3, max: 8 }),
        concurrency: fc.integer({ min: 1, max: 4 }),
        costs: fc.record({ a: fc.nat(3), b: fc.nat(3) }),
      },
      { requiredKeys: ['requests', 'per'] },
    );
    const action = fc.oneof(
      { weight: 4, arbitrary: fc.record({ ask: fc.constantFrom('a', 'b', 'c') }) },
      { weight: 3, arbitrary: fc.record({ advance: fc.nat(1_500) }) },
      { weight: 1, arbitrary: fc.record({ stall: fc.nat(5_000) }) },
      { weight: 1, arbitrary: fc.record({ pause: fc.nat(1_000) }) },
      { weight: 1, arbitrary: fc.record({ abort: fc.nat(60) }) },
      { weight: 1, arbitrary: fc.record({ jump: fc.integer({ min: -100_000, max: 100_000 }) }) },
      { weight: 2, arbitrary: fc.record({ release: fc.nat(3) }) },
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(limit, { minLength: 1, maxLength: 2 }),
        fc.array(action, { maxLength: 40 }),
        async (limits, actions) => {
          const trial = new Trial(...limits);
          for (const step of actions) {
            if ('ask' in step) trial.ask(step.ask);
            else if ('advance' in step) await trial.clock.advance(step.advance);
            else if ('stall' in step) await trial.clock.stall(step.stall);
            else if ('pause' in step) trial.limiter.pause(step.pause);
            else if ('abort' in step) trial.aborts[step.abort]?.abort();
            else if ('jump' in step) trial.jump(step.jump);
            else trial.release(step.release);
          }
          // Nobody is left behind: each one comes within the longest window after the one before.
          for (let asked = trial.aborts.length; asked > 0; asked -= 1) {
            trial.release();
            await trial.clock.advance(2_100);
          }
          const began = trial.starts.map((start) => start.nth);
          expect(began).toEqual(trial.aborts.map((_, nth) => nth).filter((nth) => !trial.aborted.has(nth)));
          for (const { requests, per, burst, concurrency = Infinity, costs = {} } of limits) {
            expect(maxIn(per, trial, costs)).toBeLessThanOrEqual(requests);
            if (burst !== undefined && burst < requests) {
              expect(maxIn((burst * per) / requests, trial, costs)).toBeLessThanOrEqual(burst);
            }
            expect(trial.maxRunning).toBeLessThanOrEqual(concurrency);
          }
          trial.release();
          expect(trial.limiter.state).toMatchObject({ queued: 0, running: 0 });
        },
      ),
      { numRuns: 100 },
    );
  });

  test('T4 lets an aborted one go at once, and whoever stands behind it moves up', async () => {
    const trial = new Trial({ requests: 1, per: 987 });
    asks(trial, 4);
    await trial.clock.advance(500);
    trial.aborts[1]?.abort();
    trial.aborts[2]?.abort();
    await trial.clock.advance(0);
    expect([...trial.aborted]).toEqual([1, 2]);
    expect(trial.limiter.state).toMatchObject({ queued: 1, running: 1 });
    await trial.clock.advance(500);
    expect(trial.starts).toMatchObject([
      { nth: 0, at: 0 },
      { nth: 3, at: 1_000 },
    ]);
    expect(trial.clock.pending).toEqual([]);
  });

  test('T4 leaves the signals of those it let begin, or go, alone', async () => {
    const trial = new Trial({ requests: 1, per: 987 });
    asks(trial, 2);
    await trial.clock.advance(0);
    trial.aborts[1]?.abort();
    for (const { signal } of trial.aborts) expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  test('T4 lets a thousand aborted ones hold up nobody', async () => {
    const trial = new Trial({ requests: 5_000, per: 1_000, concurrency: 1 });
    asks(trial, 1_001);
    await trial.clock.advance(0);
    for (const abort of trial.aborts.slice(1)) abort.abort();
    trial.ask();
    trial.release();
    const began = Date.now();
    // Bottleneck needs a few ms of its own for each job; this one takes the place of the first that was aborted.
    await vi.advanceTimersByTimeAsync(20);
    expect(trial.starts.map((start) => start.nth)).toEqual([0, 1_001]);
    expect(Date.now() - began).toBe(20);
  });

  test('L1 starts those that may start at once, without a job of Bottleneck or a timer', async () => {
    const schedule = vi.spyOn(Bottleneck.prototype, 'schedule');
    onTestFinished(() => schedule.mockRestore());
    const { limiter, clock } = new Trial({ requests: 1_000, per: 1_000, concurrency: 1 });
    for (let nth = 0; nth < 500; nth += 1) {
      const permit = await limiter.acquire({ route: 'any' });
      const next = limiter.acquire({ route: 'any' });
      permit.started?.();
      permit.release();
      (await next).release();
    }
    expect(limiter.state.rate).toMatchObject({ used: 1_000 });
    expect(schedule).not.toHaveBeenCalled();
    expect(clock.pending).toEqual([]);
  });

  test('L1 starts a thousand that waited in one job of Bottleneck', { tags: ['slow'] }, async () => {
    const schedule = vi.spyOn(Bottleneck.prototype, 'schedule');
    onTestFinished(() => schedule.mockRestore());
    const trial = new Trial({ requests: 1_000, per: 987 });
    asks(trial, 2_000);
    await trial.clock.advance(1_000);
    expect(trial.times).toEqual([...Array<number>(1_000).fill(0), ...Array<number>(1_000).fill(1_000)]);
    // Besides the empty one with which it begins.
    expect(schedule).toHaveBeenCalledTimes(2);
  });

  test('L2 refuses at once a cost that exceeds every limit, and nobody else', async () => {
    const trial = new Trial({ requests: 5, per: 1_000, costs: { dear: 6 } }, { requests: 9, per: 1_000 });
    trial.limiter.pause(60_000);
    asks(trial, 3);
    await expect(trial.limiter.acquire({ route: 'dear' })).rejects.toThrow(ConfigError);
    await expect(trial.limiter.acquire({ route: 'dear' })).rejects.toThrow('A request of dear costs more');
    expect(trial.limiter.state).toMatchObject({ queued: 3, running: 0 });
    await trial.clock.advance(60_000);
    expect(trial.starts).toHaveLength(3);
  });

  test('L2 refuses at once what costs more than a burst', async () => {
    const { limiter } = new Trial({ requests: 50, per: 1_000, burst: 2, costs: { dear: 3 } });
    await expect(limiter.acquire({ route: 'dear' })).rejects.toThrow('(2)');
  });

  test('L4 shows who waits, who runs, and how long it is paused', async () => {
    const trial = new Trial({ requests: 5, per: 987, concurrency: 2 });
    const rate = (used: number): LimiterState['rate'] => ({ used, limit: 5, per: 987 });
    expect(trial.limiter.state).toEqual({ queued: 0, running: 0, pausedFor: 0, rate: rate(0) });
    asks(trial, 4);
    expect(trial.limiter.state).toEqual({ queued: 2, running: 2, pausedFor: 0, rate: rate(2) });
    await trial.clock.advance(0);
    trial.limiter.pause(500);
    trial.release(1);
    await trial.clock.advance(100);
    expect(trial.limiter.state).toEqual({ queued: 2, running: 1, pausedFor: 400, rate: rate(2) });
    await trial.clock.advance(400);
    expect(trial.limiter.state).toEqual({ queued: 1, running: 2, pausedFor: 0, rate: rate(3) });
  });

  test('L4 shows of several limits the one that is used most, in its own cost units', async () => {
    const clock = turnedByHand();
    const limiter = new LocalLimiter(
      [
        { requests: 10, per: 1_000, burst: 8 },
        { requests: 20, per: 60_000, costs: { dear: 6 } },
      ],
      clock,
    );
    const start = async (route: string): Promise<unknown> => (await limiter.acquire({ route })).started?.();
    for (let nth = 0; nth < 3; nth += 1) void start('a');
    await clock.advance(0);
    expect(limiter.state.rate).toEqual({ used: 3, limit: 10, per: 1_000 });
    void start('dear');
    await clock.advance(0);
    expect(limiter.state.rate).toEqual({ used: 9, limit: 20, per: 60_000 });
    await clock.advance(2_000);
    expect(limiter.state.rate).toEqual({ used: 9, limit: 20, per: 60_000 });
    await clock.advance(60_000);
    expect(limiter.state.rate).toMatchObject({ used: 0 });
  });

  test.each([[[{ requests: 100, per: 1_000, concurrency: 2 }]], [[]]])(
    'L1 serves one that waited before one that need not wait, though both start at once: %j',
    async (limits) => {
      const limiter = new LocalLimiter(limits, turnedByHand(), { concurrency: 2 });
      const running = [await limiter.acquire({ route: 'any' }), await limiter.acquire({ route: 'any' })];
      const order: string[] = [];
      const waited = limiter.acquire({ route: 'any' }).then(() => order.push('waited'));
      for (const permit of running) permit.release();
      const later = limiter.acquire({ route: 'any' }).then(() => order.push('later'));
      await Promise.all([waited, later]);
      expect(order).toEqual(['waited', 'later']);
    },
  );

  test('L4 counts a place once, however often it is given back', async () => {
    const trial = new Trial({ requests: 5, per: 987, concurrency: 1 });
    asks(trial, 3);
    await trial.clock.advance(0);
    const [first] = trial.permits;
    first?.release();
    first?.release();
    await trial.clock.advance(0);
    expect(trial.limiter.state).toMatchObject({ queued: 1, running: 1 });
  });
});

describe('the wall clock', () => {
  test.each([
    ['set back by 5 s', -5_000],
    ['set back by a year', -365 * 86_400_000],
    ['put forward by an hour', 3_600_000],
  ])('L5 %s at the first request holds up nobody', async (_how, jump) => {
    const trial = new Trial({ requests: 3, per: 987, concurrency: 3 });
    trial.jump(jump);
    asks(trial, 2);
    // Bottleneck has been made by now, but has not looked at a clock since.
    trial.jump(jump);
    asks(trial, 1);
    await trial.clock.advance(0);
    expect(trial.times).toEqual([0, 0, 0]);
  });

  test.each([
    ['set back by 5 s', -5_000],
    ['set back by a year', -365 * 86_400_000],
    ['put forward by an hour', 3_600_000],
  ])('L5 %s in the middle neither stalls nor bursts', async (_how, jump) => {
    const trial = new Trial({ requests: 2, per: 987, concurrency: 9 });
    asks(trial, 3);
    await trial.clock.advance(500);
    trial.jump(jump);
    asks(trial, 3);
    await trial.clock.advance(3_000);
    expect(trial.times).toEqual([0, 0, 1_000, 1_000, 2_000, 2_000]);
  });

  test('L5 set back does not lengthen a pause', async () => {
    const { limiter, clock, ...trial } = new Trial({ requests: 2, per: 987 });
    limiter.pause(1_000);
    clock.jump(-60_000);
    await clock.advance(600);
    expect(limiter.state.pausedFor).toBe(400);
    expect(trial.starts).toEqual([]);
  });
});

test.each<[string, Limit]>([
  ['requests', { requests: 0, per: 1_000 }],
  ['requests', { requests: 0.5, per: 1_000 }],
  ['requests', { requests: NaN, per: 1_000 }],
  ['requests', { requests: -5, per: 1_000 }],
  ['per', { requests: 5, per: 0 }],
  ['per', { requests: 5, per: -1 }],
  ['per', { requests: 5, per: NaN }],
  ['per', { requests: 5, per: Infinity }],
  ['burst', { requests: 5, per: 1_000, burst: 0 }],
  ['burst', { requests: 5, per: 1_000, burst: NaN }],
  ['concurrency', { requests: 5, per: 1_000, concurrency: 0 }],
  ['concurrency', { requests: 5, per: 1_000, concurrency: -1 }],
  ['costs["a"]', { requests: 5, per: 1_000, costs: { a: -1 } }],
  ['costs["a"]', { requests: 5, per: 1_000, costs: { a: NaN } }],
])('a limit whose %s makes no sense is refused: %j', (name, limit) => {
  expect(() => new LocalLimiter([limit], turnedByHand())).toThrow(ConfigError);
  expect(() => new LocalLimiter([limit], turnedByHand())).toThrow(`rateLimit.${name} is `);
});

test('L4 without a limit shows the same', async () => {
  const clock = turnedByHand();
  const limiter = unlimited(clock);
  const [permit] = await Promise.all([limiter.acquire({ route: 'a' }), limiter.acquire({ route: 'a' })]);
  expect(limiter.state).toEqual({ queued: 0, running: 2, pausedFor: 0 });
  permit.release();
  permit.release();
  limiter.pause(500);
  void limiter.acquire({ route: 'a' });
  expect(limiter.state).toEqual({ queued: 1, running: 1, pausedFor: 500 });
  await clock.advance(500);
  expect(limiter.state).toEqual({ queued: 0, running: 2, pausedFor: 0 });
});

test('T7 whoever waits for the end of a pause goes before who comes when it is over, and in the order of coming', async () => {
  const clock = new FakeClock();
  let ring = (): void => undefined;
  const limiter = unlimited({
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    after: (_ms, callback) => {
      ring = callback;
      return () => undefined;
    },
  });
  const passed: string[] = [];
  const pass = (route: string): Promise<unknown> => limiter.acquire({ route }).then(() => passed.push(route));
  limiter.pause(100);
  const waiting = ['first', 'second', 'third'].map(pass);
  // The pause is over, and the timer has not gone off yet: the process was busy.
  await clock.stall(100);
  const late = pass('late');
  await new Promise((resolve) => setImmediate(resolve));
  expect(passed).toEqual([]);
  ring();
  await Promise.all([...waiting, late]);
  expect(passed).toEqual(['first', 'second', 'third', 'late']);
  // Nobody waits any more.
  await pass('next');
});

/** The most that began within any `span` ms, in cost units. */
function maxIn(span: number, { starts }: Trial, costs: Readonly<Record<string, number>>): number {
  const sums = starts.map(({ at: from }) =>
    starts.filter(({ at }) => at >= from && at < from + span).reduce((sum, { route }) => sum + (costs[route] ?? 1), 0),
  );
  return Math.max(0, ...sums);
}
