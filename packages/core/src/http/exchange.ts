import type { AxiosResponse, InternalAxiosRequestConfig } from 'axios';
import { sleep, type Clock } from '../clock.js';
import { RateLimitError } from '../errors.js';
import type { Adapter } from './adapter/adapter.js';
import { AdapterFault } from './adapter/adapterFault.js';
import { faultOf, readAnswer, timeoutError, type AttemptFault, type RawAnswer } from './answer.js';
import type { KeyRing } from './apiKey.js';
import type { Emit, HttpEvent } from './events.js';
import type { Limiter } from './limiter.js';
import { backoff, dateAfter, type RetryOptions } from './retryPolicy.js';
import type { Secrets } from './secrets.js';
import { Stopwatch } from './stopwatch.js';
import type { TransportRequest } from './transport.js';

/** Deadlines in ms. */
export interface Timeouts {
  /** To connect, for each attempt. Default 10,000. */
  readonly connect: number;
  /** From an attempt's start to the last byte of its answer. Default 30,000. */
  readonly response: number;
  /** For the whole request, attempts and back-offs together; waiting for the limiter does not count. Default 180,000. */
  readonly total: number;
}

export const defaultTimeouts: Timeouts = { connect: 10_000, response: 30_000, total: 180_000 };

/** What every exchange of a client shares. */
export interface ExchangeOptions {
  readonly adapter: Adapter;
  readonly limiter: Limiter;
  readonly keys: KeyRing;
  readonly secrets: Secrets;
  readonly clock: Clock;
  /** A number in [0, 1). */
  readonly random: () => number;
  readonly timeouts: Timeouts;
  readonly retry: RetryOptions;
  readonly maxBodyBytes: number;
  readonly emit: Emit<HttpEvent>;
}

/** Carries a failed attempt through axios and axios-retry, which only pass on what has a `config`. */
export class AttemptFailure extends Error {
  readonly config: InternalAxiosRequestConfig;
  readonly fault: AttemptFault;
  readonly exchange: Exchange;

  constructor(config: InternalAxiosRequestConfig, fault: AttemptFault, exchange: Exchange) {
    super(fault.error.message);
    this.config = config;
    this.fault = fault;
    this.exchange = exchange;
  }
}

/**
 * One request and its attempts: each takes its turn at the limiter, gets the key, and is held to its deadlines.
 */
export class Exchange {
  attempts = 0;
  readonly #options: ExchangeOptions;
  readonly #request: TransportRequest;
  readonly #stopwatch: Stopwatch;
  readonly #ended = new AbortController();
  #keyWasRenewed = false;

  constructor(options: ExchangeOptions, request: TransportRequest) {
    this.#options = options;
    this.#request = request;
    const { total } = options.timeouts;
    this.#stopwatch = new Stopwatch(options.clock, total, () => {
      this.#ended.abort(timeoutError(request.route, 'total', total));
    });
    request.signal?.addEventListener('abort', this.#onAbort, { once: true });
    if (request.signal?.aborted) this.#onAbort();
  }

  /** Aborted by the caller, or by the total deadline; its reason is what the caller gets. */
  get signal(): AbortSignal {
    return this.#ended.signal;
  }

  /** Frees the deadline and the caller's signal. */
  close(): void {
    this.#stopwatch.pause();
    this.#request.signal?.removeEventListener('abort', this.#onAbort);
  }

  /** One attempt, in the shape of an axios adapter; a refused key is renewed and tried once more here. */
  readonly attempt = async (config: InternalAxiosRequestConfig): Promise<AxiosResponse<unknown>> => {
    const key = await this.#options.keys.get();
    const outcome = await this.#attemptWith(key, config);
    if (outcome.fault?.status === 401 && !this.#keyWasRenewed) {
      this.#keyWasRenewed = true;
      if (await this.#options.keys.renew(key)) return this.attempt(config);
    }
    if (outcome.fault) throw new AttemptFailure(config, outcome.fault, this);
    return outcome.response;
  };

  /** Whether another attempt may do better. What the API asked for is obeyed, up to `maxRetryAfter`. */
  shouldRetry(fault: AttemptFault): boolean {
    return fault.retry && (fault.retryAfter ?? 0) <= this.#options.retry.maxRetryAfter && !this.signal.aborted;
  }

  /** The back-off after a failed attempt. It holds no turn, and counts towards the total deadline. */
  async backOff(fault: AttemptFault): Promise<void> {
    const { retry, random, emit, clock, limiter } = this.#options;
    const delay = fault.retryAfter ?? backoff(this.attempts, retry, random());
    const { route } = this.#request;
    emit({ type: 'retry', route, attempt: this.attempts, delay, reason: fault.error.code });
    if (fault.status === 429) {
      // The quota belongs to the key, so the whole client waits, at the limiter.
      limiter.pause(delay);
      emit({ type: 'paused', route, for: delay });
      return;
    }
    await sleep(clock, delay, this.signal);
  }

  /** The error for the caller, once no attempt follows. */
  finalError(fault: AttemptFault): Error {
    const { maxRetryAfter } = this.#options.retry;
    const { route } = this.#request;
    if (
      fault.retryAfter !== undefined &&
      fault.retryAfter > maxRetryAfter &&
      fault.retry &&
      fault.status !== undefined
    ) {
      const retryAt = dateAfter(this.#options.clock.now(), fault.retryAfter);
      const wait = `${String(Math.round(fault.retryAfter / 1000))} s`;
      const message = `${route} was told to wait ${wait}, longer than maxRetryAfter (${String(maxRetryAfter / 1000)} s) allows. Run it again${retryAt ? ` after ${retryAt.toISOString()}` : ' then'}, or raise maxRetryAfter.`;
      return new RateLimitError(message, { status: fault.status, retryAt, details: { route } });
    }
    return fault.error;
  }

  async #attemptWith(key: string, config: InternalAxiosRequestConfig): Promise<Outcome> {
    const { adapter, limiter, clock, timeouts, emit, secrets, maxBodyBytes } = this.#options;
    const { route } = this.#request;
    this.#stopwatch.pause();
    const asked = clock.monotonic();
    const turn = await limiter.turn({ route, signal: this.signal });
    this.#stopwatch.run();
    this.attempts += 1;
    const attempt = this.attempts;
    const began = clock.monotonic();
    emit({ type: 'attempt', route, attempt, waited: began - asked });
    const deadline = new AbortController();
    const cancelDeadline = clock.after(timeouts.response, () => {
      deadline.abort();
    });
    try {
      const answer = await adapter.send({
        ...config,
        headers: keyed(config, key),
        signal: AbortSignal.any([this.signal, deadline.signal]),
      });
      const raw: RawAnswer = { status: answer.status, headers: plainHeaders(answer), text: String(answer.data) };
      emit({ type: 'response', route, attempt, status: raw.status, took: clock.monotonic() - began });
      const reading = readAnswer(raw, { route, secrets, now: clock.now() });
      return reading.ok ? { response: { ...answer, data: reading.body } } : { fault: reading.fault };
    } catch (error) {
      this.signal.throwIfAborted();
      if (deadline.signal.aborted)
        return { fault: { error: timeoutError(route, 'response', timeouts.response), retry: true } };
      const fault = error instanceof AdapterFault ? error : new AdapterFault('network');
      return { fault: faultOf(fault, route, { connect: timeouts.connect, maxBodyBytes }) };
    } finally {
      cancelDeadline();
      turn.release();
    }
  }

  readonly #onAbort = (): void => {
    this.#ended.abort(this.#request.signal?.reason);
  };
}

type Outcome = { response: AxiosResponse<unknown>; fault?: undefined } | { fault: AttemptFault };

/** The headers of one attempt with the key, on a copy: what links, retries and errors can see never holds it. */
function keyed(config: InternalAxiosRequestConfig, key: string): InternalAxiosRequestConfig['headers'] {
  return config.headers.concat({ 'X-API-Key': key });
}

function plainHeaders(answer: AxiosResponse<unknown>): Record<string, string> {
  return Object.fromEntries(Object.entries(answer.headers).map(([name, value]) => [name.toLowerCase(), String(value)]));
}
