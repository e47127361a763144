import { type Clock, sleep } from '../clock.js';
import { ConfigError } from '../errors.js';

/** When a source is walked again, and how. */
export interface TickOptions {
  /** Ms from one tick to the next: a fixed rate, however long the work takes. Ticks that are missed meanwhile are skipped. */
  readonly every: number;
  /** Puts each tick off by up to this share of `every`, at random, so that many clients don't ask at once. Default 0. */
  readonly jitter?: number;
  /** Whether the first tick comes at once. Default `true`; else after `every`. */
  readonly immediate?: boolean;
  /** Partitions of the source's plan walked at once. Default 1. */
  readonly concurrency?: number;
  /** Default: the machine's clock. */
  readonly clock?: Clock;
  /** A number in [0, 1). Default: `Math.random`. */
  readonly random?: () => number;
}

/** Ticks at a fixed rate, measured by the monotonic clock. */
export class Ticks {
  readonly #every: number;
  readonly #jitter: number;
  readonly #clock: Clock;
  readonly #random: () => number;
  #last: number;
  #began: number | undefined;

  /** @throws ConfigError if the rate or the jitter makes no sense. */
  constructor({ every, jitter = 0, immediate = true }: TickOptions, clock: Clock, random: () => number) {
    if (!(every > 0 && Number.isFinite(every)))
      throw new ConfigError(`every is ${every}: it must be a positive number of ms.`, { option: 'every' });
    if (!(jitter >= 0 && jitter <= 1))
      throw new ConfigError(`jitter is ${jitter}: it must be a share from 0 to 1.`, { option: 'jitter' });
    this.#every = every;
    this.#jitter = jitter;
    this.#clock = clock;
    this.#random = random;
    this.#last = immediate ? -1 : 0;
  }

  /** Resolves at the next tick, or `skipped` ticks later; rejects with `signal.reason` when aborted before. */
  async next(signal: AbortSignal, skipped = 0): Promise<void> {
    const now = this.#clock.monotonic();
    this.#began ??= now;
    const late = this.#jitter * this.#random();
    // A tick that is put off is not missed before its time.
    const passed = Math.ceil((now - this.#began) / this.#every - late);
    this.#last = Math.max(this.#last + 1 + skipped, passed);
    const due = this.#began + (this.#last + late) * this.#every;
    if (due > now) await sleep(this.#clock, due - now, signal);
    else signal.throwIfAborted();
  }
}

/** An API that is down is not helped by being asked. */
const maxSkipped = 7;
/** Ms. However rarely it is asked, nobody should have to wait much longer to hear that it is back. */
const longestExtraWait = 5 * 60_000;

/** How many ticks are skipped after so many failed polls in a row, with `every` ms from one to the next. */
export function skippedTicks(failures: number, every: number): number {
  if (failures === 0) return 0;
  return Math.min(2 ** (failures - 1) - 1, maxSkipped, Math.floor(longestExtraWait / every));
}
