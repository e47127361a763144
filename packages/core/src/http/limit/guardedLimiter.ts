import { abortable } from '../../abortable.js';
import { afterRunning, type Clock, settlesWithin } from '../../clock.js';
import { PluginError, RequestTimeoutError, SluiceError } from '../../errors.js';
import { isRecord } from '../../values.js';
import type { AcquireOptions, Limiter, LimiterState, Permit } from './limiterTypes.js';

function isPermit(permit: unknown): permit is Permit {
  return isRecord(permit) && typeof permit['release'] === 'function';
}

/** Ms that a limiter may take to close. */
const longestClose = 30_000;

/**
 * A limiter that somebody else wrote. Its errors name it, and nothing waits for it without an end.
 *
 * A request may wait for hours, e.g. for the quota of a day. So what counts is the time in which the limiter grants
 * nothing to anybody, and shows neither a pause nor a rate in use.
 */
export class GuardedLimiter implements Limiter {
  readonly #inner: Limiter;
  readonly #name: string;
  readonly #clock: Clock;
  readonly #longestWait: number;
  #grantedAt = -Infinity;

  /**
   * @param whose names it, if it has no name
   * @param longestWait ms that a request waits although nothing shows why
   */
  constructor(inner: Limiter & { readonly name?: unknown }, whose: string, clock: Clock, longestWait: number) {
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

  async acquire({ route, signal }: AcquireOptions): Promise<Permit> {
    signal?.throwIfAborted();
    const stop = new AbortController();
    const onAbort = (): void => stop.abort(signal?.reason);
    signal?.addEventListener('abort', onAbort, { once: true });
    const endWatch = this.#watch(() => stop.abort(this.#tooLate(route)));
    const permit = this.#permit({ route, signal: stop.signal });
    try {
      return await abortable(permit, stop.signal);
    } catch (error) {
      if (!stop.signal.aborted) throw this.#named(error);
      // A limiter that overlooks the abort grants it nevertheless.
      permit.then(
        (late) => late.release('unwritten'),
        () => undefined,
      );
      throw error;
    } finally {
      endWatch();
      signal?.removeEventListener('abort', onAbort);
    }
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
    const permit: unknown = await this.#inner.acquire(request);
    if (!isPermit(permit)) throw new TypeError('its acquire has to return a permit, which has a release()');
    this.#grantedAt = this.#clock.monotonic();
    return permit;
  }

  /** Calls back when the limiter grants nothing, and nothing shows why. Returns a function that ends the watch. */
  #watch(onIdle: () => void): () => void {
    const wait = (): (() => void) =>
      afterRunning(this.#clock, this.#longestWait, () => {
        if (this.#isWorking()) cancel = wait();
        else onIdle();
      });
    let cancel = wait();
    return () => cancel();
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
