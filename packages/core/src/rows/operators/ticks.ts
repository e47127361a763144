import { type Clock, sleep, systemClock } from '../../clock.js';
import { ConfigError } from '../../errors.js';
import type { PageCacheLimits } from '../source/pageCache.js';

/** When and how a source is polled. */
export interface TickOptions {
  /** Ms from one tick to the next, however long a walk takes. Ticks during a walk are skipped. */
  readonly every: number;
  /** Delays each tick at random by up to this share of `every`, so that many clients do not poll at once. Default 0. */
  readonly jitter?: number | undefined;
  /** Whether the first tick is immediate (the default) or after `every`. */
  readonly immediate?: boolean | undefined;
  /** Partitions of the source's plan to walk in parallel. Default 1. */
  readonly concurrency?: number | undefined;
  /**
   * Whether pages are requested with the entity tag (`ETag`) of their last response, as `If-None-Match`. The API then
   * answers 304 for a page that has not changed: its stored rows are used, the same objects, without decoding them
   * again. Only for listings that send no body, where the API sends tags. Pages are stored in memory, up to the limits.
   *
   * Use `false` for an API whose tag stays the same although the page has changed: its changes would be missed.
   *
   * Default: `true` for a watch, unless an operator of `pipePages` makes the rows, which may modify the stored ones;
   * `false` for `poll`, whose consumers may modify their rows.
   */
  readonly conditional?: boolean | PageCacheLimits | undefined;
  /** Default: the machine's clock. */
  readonly clock?: Clock | undefined;
  /** A number in [0, 1). Default: `Math.random`. */
  readonly random?: (() => number) | undefined;
}

/** The names of these options. */
export const tickOptionNames = {
  every: true,
  jitter: true,
  immediate: true,
  concurrency: true,
  conditional: true,
  clock: true,
  random: true,
} as const satisfies Readonly<Record<keyof TickOptions, true>>;

/** Ticks at a fixed rate, measured by the monotonic clock. */
export class Ticks {
  readonly #every: number;
  readonly #jitter: number;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #closed: AbortSignal | undefined;
  #last: number;
  #began: number | undefined;

  /**
   * @param closed aborts when the client of the source is closed.
   * @throws ConfigError if the rate or the jitter is invalid.
   */
  constructor(options: TickOptions, closed?: AbortSignal) {
    const { every, jitter = 0, immediate = true, clock = systemClock, random = Math.random } = options;
    if (!(every > 0 && Number.isFinite(every)))
      throw new ConfigError((option = 'every') => `${option} is ${every}: it must be a positive number of ms.`, {
        option: 'every',
      });
    if (!(jitter >= 0 && jitter <= 1))
      throw new ConfigError((option = 'jitter') => `${option} is ${jitter}: it must be a share from 0 to 1.`, {
        option: 'jitter',
      });
    this.#every = every;
    this.#jitter = jitter;
    this.#clock = clock;
    this.#random = random;
    this.#closed = closed;
    this.#last = immediate ? -1 : 0;
  }

  /**
   * Resolves at the next tick, or `skipped` ticks later. Rejects with `signal.reason` if that aborts before, and with a
   * NetworkError if the client is closed.
   */
  async next(signal: AbortSignal, skipped = 0): Promise<void> {
    const now = this.#clock.monotonic();
    this.#began ??= now;
    const delay = this.#jitter * this.#random();
    // A tick that jitter delays is not missed before its delayed time.
    const passed = Math.ceil((now - this.#began) / this.#every - delay);
    this.#last = Math.max(this.#last + 1 + skipped, passed);
    const due = this.#began + (this.#last + delay) * this.#every;
    if (due > now) await sleep(this.#clock, due - now, signal, this.#closed);
    else signal.throwIfAborted();
  }
}

const maxSkipped = 7;
/** Ms by which skipped ticks may delay the next poll of a recovered API. */
const longestExtraWait = 5 * 60_000;

/** How many ticks to skip after consecutive failed polls: requests do not help an API that is down. `every` in ms. */
export function countSkipped(failures: number, every: number): number {
  if (failures === 0) return 0;
  return Math.min(2 ** (failures - 1) - 1, maxSkipped, Math.floor(longestExtraWait / every));
}
