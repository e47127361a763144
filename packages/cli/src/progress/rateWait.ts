import type { EventOf, Limit, RateUse } from '@sluice/core';
import { formatDuration } from '../terminal/format.js';

type FollowedEvent = EventOf<'request' | 'attempt' | 'retry' | 'paused' | 'settled'>;

/**
 * The wall time in which a rate held a run up, in ms: at least one request waited for its permit, the API had asked for
 * no pause, and one more request could have been in progress. Waits at the same time count once.
 */
export class RateWait {
  readonly #parallel: number;
  /** Since when each request has waited; after a back-off, from its end on. */
  readonly #waiting = new Map<number, number>();
  readonly #sent = new Set<number>();
  #pausedUntil = -Infinity;
  #total = 0;
  #countedTo = -Infinity;

  /** @param parallel how many requests may be in progress. */
  constructor(parallel = Infinity) {
    this.#parallel = parallel;
  }

  /** @param now of a monotonic clock, in ms. */
  follow(event: FollowedEvent, now: number): void {
    this.#count(now);
    if (event.type === 'paused') {
      this.#pausedUntil = Math.max(this.#pausedUntil, now + event.for);
      return;
    }
    this.#waiting.delete(event.request);
    this.#sent.delete(event.request);
    if (event.type === 'request') this.#waiting.set(event.request, now);
    if (event.type === 'attempt') this.#sent.add(event.request);
    if (event.type === 'retry') this.#waiting.set(event.request, now + event.delay);
  }

  /** Until now. */
  total(now: number): number {
    this.#count(now);
    return this.#total;
  }

  #count(now: number): void {
    if (this.#waiting.size > 0 && this.#sent.size < this.#parallel) {
      const since = Math.max(this.#countedTo, this.#pausedUntil, Math.min(...this.#waiting.values()));
      this.#total += Math.max(0, now - since);
    }
    this.#countedTo = now;
  }
}

/** Requests in parallel without `--rate`. */
export const usualParallel = 4;
const usualRate = { requests: 5, per: 1_000 };

/** Shorter waits are not worth a change. Ms, and share of the run. */
const worthwhile = { wait: 1_000, share: 0.1 };

/**
 * Says how long `--rate` held a run up; `undefined` if it did not, or another limit did.
 *
 * @param rate of the option, if it was given.
 * @param use of the limiter that the run had.
 */
export function rateAdvice(
  { waited, elapsed }: { readonly waited: number; readonly elapsed: number },
  rate: Limit | false | undefined,
  use: RateUse | undefined,
): string | undefined {
  if (rate === false) return undefined;
  const { requests, per } = rate ?? usualRate;
  if (use?.limit !== requests || use.per !== per) return undefined;
  if (waited < worthwhile.wait || waited < worthwhile.share * elapsed) return undefined;
  const unit = { 1_000: 's', 60_000: 'm', 3_600_000: 'h' }[per] ?? `${String(per)} ms`;
  const shown = `${String(requests)}/${unit}${rate === undefined ? ', the default' : ''}`;
  return `Waited ${formatDuration(waited)} of ${formatDuration(elapsed)} for --rate (${shown}); raise it if your plan allows more.`;
}
