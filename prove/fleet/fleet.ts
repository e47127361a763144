import type { Clock } from '@sluice/core';
import type { Permit } from '@sluice/core/kit';
import { encodeLimits } from '../../packages/cluster/src/limiter/decodeLimits.js';
import { SharedLimiter } from '../../packages/cluster/src/limiter/sharedLimiter.js';
import { TwinServer } from '../../packages/cluster/test/limiter/twinAccess.js';
import { Random } from '../../test/kit/random.js';
import { Schedule } from '../world/schedule.js';
import { Trace } from '../world/trace.js';

/** Processes that share a limit, and always want more than it allows. */
export interface FleetOptions {
  readonly workers: number;
  /** Starts in any `per` ms. */
  readonly requests: number;
  readonly per: number;
  /** Ms to Redis, and as much back. */
  readonly distance: number;
  /** Ms that each request takes. */
  readonly took: number;
  /** Requests of each process that are under way or wait. */
  readonly parallel: number;
}

/** How a fleet did, in simulated time. */
export interface FleetReport {
  readonly workers: number;
  /** Starts, as a share of what the limit allows. */
  readonly share: number;
  /** The most starts in any window. */
  readonly worst: number;
  /** Calls of Redis per start, and per second. */
  readonly callsPerStart: number;
  readonly callsPerSecond: number;
  /** The least and the most that a process got, as a share of what is fair. */
  readonly least: number;
  readonly most: number;
}

/** Starts that a fair share has while it is measured: with fewer, one more or less would say much. */
const fairStarts = 10;

/** Lets the code of the limiter, with the twin of its script in the place of Redis, play in simulated time. */
export async function playFleet(options: FleetOptions, turn: () => Promise<void>): Promise<FleetReport> {
  const { workers, requests, per, distance, took, parallel } = options;
  const random = new Random(`${workers} workers`);
  const schedule = new Schedule(new Trace({ keep: false }), random, turn, { hasOwners: false, maxEvents: Infinity });
  const clock: Clock = {
    now: () => schedule.now,
    monotonic: () => schedule.now,
    after: (ms, callback) => schedule.after(ms, 'timer', callback),
  };
  const server = new TwinServer(clock);
  const limit = { requests, per };
  const starts: { readonly worker: number; readonly at: number }[] = [];
  server.delay = distance;
  server.openLongAgo(encodeLimits([limit]));
  for (let worker = 0; worker < workers; worker += 1) {
    const limiter = new SharedLimiter({
      name: 'api',
      limits: encodeLimits([limit]),
      concurrency: Infinity,
      clock,
      worker: `w${worker}`,
      access: server.access(),
      waitForBook: 30_000,
      maxPause: 60_000,
    });
    const again = (): void =>
      void limiter.acquire({ route: 'any' }).then((permit: Permit) => {
        permit.started?.();
        starts.push({ worker, at: schedule.now });
        schedule.after(took * (0.5 + random.next()), 'response', () => {
          permit.release();
          again();
        });
      });
    for (let nth = 0; nth < parallel; nth += 1) schedule.after(random.next() * per, 'begin', again);
  }
  // Once around the ring, so that the book knows how long processes usually take.
  const round = Math.max(10, (2 * workers) / requests) * per;
  const measured = Math.max(10, (fairStarts * workers) / requests) * per;
  await schedule.until(() => schedule.now >= round);
  const calls = server.calls;
  const first = starts.length;
  await schedule.until(() => schedule.now >= round + measured);
  const counted = starts.slice(first);
  const each = new Map<number, number>();
  for (const { worker } of counted) each.set(worker, (each.get(worker) ?? 0) + 1);
  const fair = counted.length / workers;
  const got = Array.from({ length: workers }, (_, worker) => (each.get(worker) ?? 0) / fair);
  return {
    workers,
    share: (counted.length * per) / (measured * requests),
    worst: worstWindow(
      starts.map(({ at }) => at),
      per,
    ),
    callsPerStart: (server.calls - calls) / counted.length,
    callsPerSecond: (1_000 * (server.calls - calls)) / measured,
    least: Math.min(...got),
    most: Math.max(...got),
  };
}

/** The most times in any `per` ms, of times in order. */
function worstWindow(times: readonly number[], per: number): number {
  let worst = 0;
  let oldest = 0;
  for (const [at, time] of times.entries()) {
    while ((times[oldest] ?? 0) <= time - per) oldest += 1;
    worst = Math.max(worst, at - oldest + 1);
  }
  return worst;
}
