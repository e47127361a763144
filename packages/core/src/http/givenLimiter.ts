import { settlesWithin, type Clock } from '../clock.js';
import { PluginError, RequestTimeoutError, SluiceError } from '../errors.js';
import type { AcquireOptions, Limiter, LimiterState, Permit } from './limiterTypes.js';

/** Ms that a limiter may take to close. */
const longestClose = 30_000;

interface GivenLimiterOptions {
  readonly clock: Clock;
  /** Ms that a request waits although nothing shows why. */
  readonly longestWait: number;
}

/**
 * A limiter that somebody else wrote. Its errors name it, and nothing waits for it without an end.
 *
 * A request may wait for hours, e.g. for the quota of a day. So what counts is the time in which the limiter grants
 * nothing to anybody, and shows neither a pause nor a rate in use.
 *
 * @param whose names it, if it has no name
 */
export function givenLimiter(limiter: Limiter, whose: string, options: GivenLimiterOptions): Limiter {
  return new GivenLimiter(limiter, whose, options);
}

class GivenLimiter implements Limiter {
  readonly #inner: Limiter & { readonly name?: unknown };
  readonly #name: string;
  readonly #clock: Clock;
  readonly #longestWait: number;
  #grantedAt = -Infinity;

  constructor(
    inner: Limiter & { readonly name?: unknown },
    whose: string,
    { clock, longestWait }: GivenLimiterOptions,
  ) {
    this.#inner = inner;
    this.#name = typeof inner.name === 'string' ? `The limiter "${inner.name}"` : whose;
    this.#clock = clock;
    this.#longestWait = longestWait;
  }

  get state(): LimiterState {
    return this.#inner.state;
  }

  pause(ms: number): void {
    try {
      this.#inner.pause(ms);
    } catch (error) {
      throw this.#named(error);
    }
  }

  acquire({ route, signal }: AcquireOptions): Promise<Permit> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const stop = new AbortController();
      const end = (settle: () => void): void => {
        if (stop.signal.aborted) return;
        cancel();
        signal?.removeEventListener('abort', onAbort);
        settle();
      };
      const refuse = (error: unknown): void =>
        end(() => {
          stop.abort(error);
          reject(error);
        });
      const onAbort = (): void => refuse(signal?.reason);
      signal?.addEventListener('abort', onAbort, { once: true });
      const wait = (): (() => void) =>
        this.#clock.after(this.#longestWait, () => {
          if (this.#isWorking()) cancel = wait();
          else refuse(this.#tooLate(route));
        });
      let cancel = wait();
      this.#permit({ route, signal: stop.signal }).then(
        (permit) => {
          this.#grantedAt = this.#clock.monotonic();
          // A limiter that overlooks the abort grants it nevertheless.
          if (stop.signal.aborted) permit.release('unwritten');
          end(() => resolve(permit));
        },
        (error: unknown) => refuse(this.#named(error)),
      );
    });
  }

  /** @throws PluginError if it takes too long; what it throws, with its name. */
  async close(): Promise<void> {
    const closing = (async () => this.#inner.close?.())().catch((error: unknown) => {
      throw this.#named(error);
    });
    if (await settlesWithin(this.#clock, longestClose, closing)) return closing;
    throw new PluginError(`${this.#name} took longer than ${longestClose / 1000} s to close.`);
  }

  async #permit(request: AcquireOptions): Promise<Permit> {
    return this.#inner.acquire(request);
  }

  #isWorking(): boolean {
    const { pausedFor, rate } = this.state;
    return pausedFor > 0 || (rate?.used ?? 0) > 0 || this.#clock.monotonic() - this.#grantedAt < this.#longestWait;
  }

  #named(error: unknown): unknown {
    if (SluiceError.is(error)) return error;
    const said = error instanceof Error ? error.message : String(error);
    return new PluginError(`${this.#name} failed: ${said}.`, { cause: error, advice: [{ kind: 'see-cause' }] });
  }

  #tooLate(route: string): RequestTimeoutError {
    const ms = this.#longestWait;
    const message = `${route}: ${this.#name.replace(/^The/, 'the')} granted nothing within ${ms} ms, and shows neither a pause nor a rate in use. Does it wait for something that never happens?`;
    return new RequestTimeoutError(message, {
      details: { route, deadline: 'total', ms },
      advice: [{ kind: 'raise', option: 'timeouts.total' }],
    });
  }
}
