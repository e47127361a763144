import type { Limit } from '@sluice/core';
import type { Limiter, Permit } from '@sluice/core/kit';
import { ManualClock } from '@sluice/testing';
import type { Random } from '../../../../test/kit/random.js';

/** How long things take in a simulation, in ms. */
export interface Delays {
  /** From the arrival of a request to its response. */
  readonly serve: number;
  /** From the write of a request to its arrival. */
  readonly arrive: (nth: number) => number;
}

/** What a server observes that refuses a request if so many others arrived within the window before it. */
export interface Observed {
  readonly arrivals: readonly number[];
  readonly refused: number;
  /** Of the rate, from the first arrival on and after its burst. */
  readonly share: number;
}

/** A simulated clock whose timers are late, as those of a process are. */
export class LateClock extends ManualClock {
  readonly #late: () => number;

  constructor(late: () => number) {
    super(() => new Promise((resolve) => setImmediate(resolve)));
    this.#late = late;
  }

  override after(ms: number, callback: () => void): () => void {
    return super.after(ms + this.#late(), callback);
  }
}

/** Chains of requests, each of which waits for the response to the one before it, as the pages of partitions do. */
export async function requestChains(
  clock: ManualClock,
  limiters: readonly Limiter[],
  {
    chains,
    pages,
    limit,
    delays,
    random,
  }: {
    /** Of each limiter. */
    readonly chains: number;
    readonly pages: number;
    readonly limit: Limit;
    readonly delays: Delays;
    readonly random: Random;
  },
): Promise<Observed> {
  const arrivals: number[] = [];
  const admitted: number[] = [];
  let written = 0;
  let refused = 0;
  const wait = (ms: number): Promise<void> => new Promise((resolve) => clock.after(ms, resolve));
  const arrived = (): void => {
    const now = clock.monotonic();
    arrivals.push(now);
    if (now - (admitted.at(-limit.requests) ?? -Infinity) < limit.per) refused += 1;
    else admitted.push(now);
  };
  const request = async (limiter: Limiter): Promise<void> => {
    const permit: Permit = await limiter.acquire({ route: 'rows' });
    if (permit.started?.() === false) {
      permit.release('unwritten');
      return request(limiter);
    }
    await wait(delays.arrive((written += 1)));
    arrived();
    await wait(delays.serve);
    permit.observe?.({ status: 200, headers: {} });
    permit.release();
  };
  const chain = async (limiter: Limiter): Promise<void> => {
    await wait(random.int(0, 3));
    for (let page = 0; page < pages; page += 1) await request(limiter);
  };
  const all = Promise.all(limiters.flatMap((limiter) => Array.from({ length: chains }, () => chain(limiter))));
  let isDone = false;
  void all.then(() => (isDone = true));
  while (!isDone) await clock.advance(100);
  const ideal = ((arrivals.length - limit.requests) / limit.requests) * limit.per;
  return { arrivals, refused, share: ideal / ((arrivals.at(-1) ?? 0) - (arrivals[0] ?? 0)) };
}
