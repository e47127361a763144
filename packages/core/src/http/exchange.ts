import { abortable } from '../abortable.js';
import { sleep, type Clock } from '../clock.js';
import { reportOf } from '../errorReport.js';
import { amend } from '../errors.js';
import { type Adapter, AdapterFault, type AttemptResponse } from './adapter/adapter.js';
import type { Credentials } from './credentials.js';
import type { Emit, HttpEvent, RequestOutcome } from './events.js';
import type { PauseCause } from './limit/limiterReports.js';
import type { Limiter, Permit } from './limit/limiterTypes.js';
import type { Timeouts } from './requestTimes.js';
import { closedError, connectionFault, timeoutError } from './requestErrors.js';
import type { ReadResult } from './response/readResponse.js';
import { type AttemptFault, underQuota } from './response/statusFault.js';
import { type AttemptFailure, Retries } from './retry/retries.js';
import type { RetryOptions } from './retry/retryOptions.js';
import { sendAttempt } from './adapter/sendAttempt.js';
import { SignalWatch } from '../signalWatch.js';
import { type BareRequest, type Stamped, stampRequest } from './stamp.js';
import { Stopwatch } from './stopwatch.js';
import type { TransportResponse } from './transport.js';

export interface ExchangeOptions {
  readonly adapter: Adapter;
  readonly clock: Clock;
  readonly random: () => number;
  readonly timeouts: Timeouts;
  readonly retry: RetryOptions;
  readonly maxBodyBytes: number;
  /** What its caller names the address, for errors. Default: base URL. */
  readonly address?: 'base URL' | 'URL';
  readonly emit: Emit<HttpEvent>;
  /** Called whenever the state of a limiter changes, with why it is paused. */
  readonly onLimiter?: (limiter: Limiter, cause?: PauseCause) => void;
  /** Aborted when the client closes; ends every request. */
  readonly closed: AbortSignal;
}

export interface Call extends BareRequest {
  /** The redacted URL, for events. */
  readonly shownUrl: () => string;
  /** Gives each attempt its permit. */
  readonly limiter: Limiter;
  /** Whether a failed connection is retried whatever its fault, since the address has worked. Default: it is not. */
  readonly isKnown?: () => boolean;
  /** `false`: it is not retried once it was sent. Default `true`. */
  readonly isRepeatable?: boolean;
  /** Added to each attempt, below links and retries. */
  readonly credentials: Credentials;
  /**
   * Reads a response; or says to which URL the request is sent again. `now` is wall time in ms. After redirects, `from` is
   * where the response comes from.
   */
  readonly read: (
    response: AttemptResponse,
    now: number,
    from: RequestedUrl,
  ) => ReadResult | { readonly redirectTo: string };
  readonly signal?: AbortSignal | undefined;
}

/** The URL that an attempt requests now, without credentials. */
export interface RequestedUrl {
  readonly url: string;
  /** How many redirects led there. */
  readonly redirects: number;
}

/** Makes the attempts of a request until one gets a response. What it rejects with is the request's error. */
type Repeat = (call: Call, exchange: Pick<Exchange, 'attempt'>) => Promise<TransportResponse>;

/** Sends each request as an exchange, whose attempts `repeat` makes. Default: one after the other. */
export function startExchanges(
  options: ExchangeOptions,
  repeat: Repeat = repeatAttempts,
): (call: Call) => Promise<TransportResponse> {
  const signals = new SignalWatch();
  // Keeps one listener on the signal for the life of the client, instead of adding and removing one per request.
  signals.watch(options.closed, () => undefined);
  let requests = 0;
  return (call) =>
    new Promise((resolve, reject) => {
      const { route, signal } = call;
      signal?.throwIfAborted();
      if (options.closed.aborted) throw closedError(route);
      // Cancellation rejects at once, whatever the layers below are doing.
      const exchange = new Exchange(options, call, { number: (requests += 1), signals, onFail: reject });
      repeat(call, exchange).then(resolve, (error: unknown) => exchange.fail(error));
    });
}

const repeatAttempts: Repeat = async (_call, exchange) => {
  for (;;) {
    const response = await exchange.attempt();
    if (response) return response;
  }
};

/** What the exchanges of a client share, and which one this is. */
interface ExchangeContext {
  /** The number of the request in the client. */
  readonly number: number;
  readonly signals: SignalWatch;
  /** Called at once, with the reason, when the request ends without a response. */
  readonly onFail: (reason: unknown) => void;
}

/** One request and its attempts: each acquires a permit, gets its credentials, and has deadlines. */
class Exchange {
  readonly #options: ExchangeOptions;
  readonly #call: Call;
  readonly #number: number;
  readonly #onFail: (reason: unknown) => void;
  readonly #began: number;
  readonly #stopwatch: Stopwatch;
  readonly #retries: Retries;
  readonly #unwatch: (() => void)[];
  /** Aborts waits, attempts and back-off. Replaced when an attempt exceeds its deadline, which aborts it, too. */
  #stop = new AbortController();
  #attempts = 0;
  /** Whether the last response refused the credentials. */
  #wasRefused = false;
  /** Whether a 403 was taken for a pause. */
  #wasForbidden = false;
  #isOver = false;

  constructor(options: ExchangeOptions, call: Call, { number, signals, onFail }: ExchangeContext) {
    this.#options = options;
    this.#call = call;
    this.#number = number;
    this.#onFail = onFail;
    const { timeouts, closed, clock, retry, random } = options;
    const { route, signal, method, shownUrl } = call;
    this.#began = clock.monotonic();
    this.#stopwatch = new Stopwatch(clock, timeouts.total, () =>
      this.fail(timeoutError(route, 'total', timeouts.total)),
    );
    this.#retries = new Retries(retry, random);
    this.#unwatch = [signals.watch(closed, () => this.fail(closedError(route)))];
    if (signal)
      this.#unwatch.push(signals.watch(signal, () => this.#endWith(() => ({ outcome: 'stopped' }), signal.reason)));
    // Last, because an observer may abort the request during the event.
    this.#emit('request', () => ({ route, request: number, type: 'request', method, url: shownUrl() }));
  }

  /** Ends the request, unless it has ended. */
  fail(error: unknown): void {
    this.#endWith(() => ({ outcome: 'failed', error: reportOf(error) }), error);
  }

  #endWith(outcome: () => RequestOutcome, reason: unknown): void {
    this.#end(outcome);
    this.#onFail(reason);
    // Without the reason: axios modifies errors that pass through it, and this one is the caller's.
    this.#stop.abort();
  }

  /** Emits the outcome, once. No event follows it. */
  #end(outcome: () => RequestOutcome): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const { clock, emit } = this.#options;
    const { route } = this.#call;
    emit('settled', () => ({
      route,
      request: this.#number,
      type: 'settled',
      attempts: this.#attempts,
      took: clock.monotonic() - this.#began,
      ...outcome(),
    }));
    this.#stopwatch.stop();
    for (const unwatch of this.#unwatch) unwatch();
  }

  /**
   * Makes an attempt. What ends the request is passed to `onFail` and not thrown: axios would modify it.
   *
   * @returns `undefined` if the attempt failed and its back-off is over, so that the next one is due
   */
  async attempt(): Promise<TransportResponse | undefined> {
    try {
      const response = await this.#attempt();
      if (response) this.#end(() => ({ outcome: 'answered', status: response.status }));
      return response;
    } catch (error) {
      this.fail(error);
      throw new Error('The request has ended.');
    }
  }

  /** Sends an attempt until it is written. If the API refuses the credentials, they are renewed and it is sent once more. */
  async #attempt(): Promise<TransportResponse | undefined> {
    const { credentials, limiter } = this.#call;
    const again: Again = {
      number: this.#attempts + 1,
      isFresh: false,
      isRenewed: false,
      outdated: 0,
      waited: 0,
      // An address that a server redirected to may be for once, so each attempt begins with the request's own.
      requested: { url: this.#call.url, redirects: 0 },
    };
    for (;;) {
      this.#stop.signal.throwIfAborted();
      this.#stopwatch.run();
      await credentials.prepare?.({ hasPermit: false, untimed: this.#untimed });
      const outcome = await this.#send(again);
      again.isRenewed = outcome.kind === 'expired';
      switch (outcome.kind) {
        case 'answered':
          return outcome.response;
        case 'redirected':
          again.requested = outcome.to;
          break;
        case 'expired':
          break;
        case 'stale':
          again.isFresh = true;
          break;
        case 'outdated':
          // A pause may begin whenever a connection opens: it ends by itself.
          if (limiter.state.pausedFor === 0) again.outdated += 1;
          break;
        case 'failed':
          if (await this.#renew(outcome)) return this.#attempt();
          await this.#prepareRetry(outcome.failure);
          return undefined;
      }
    }
  }

  /** Renews credentials that the API refuses, unless they are renewed ones. @returns whether there are others now */
  async #renew({ failure: { fault }, sent }: FailedAttempt): Promise<boolean> {
    const isRefused = fault.renews === true;
    const isAgain = isRefused && this.#wasRefused;
    // Renewed ones that failed in another way were not refused, and may expire while the request is retried.
    this.#wasRefused = isRefused;
    if (isAgain) this.#call.credentials.refusedAgain?.(sent);
    if (!isRefused || isAgain) return false;
    return (await this.#call.credentials.renew?.(sent)) ?? false;
  }

  /**
   * Waits before the next attempt, without a permit. What the API asked for does not count towards the total deadline.
   *
   * @throws SluiceError if there is no next attempt.
   */
  async #prepareRetry(failure: AttemptFailure): Promise<void> {
    const { clock } = this.#options;
    const { fault, delay, left } = failure;
    const { route } = this.#call;
    const finalError = this.#retries.errorIfLast(failure, { route, attempts: this.#attempts, now: clock.now() });
    if (finalError) throw finalError;
    if (failure.isRequested) this.#stopwatch.pause();
    this.#emit('retry', () => ({
      route,
      request: this.#number,
      type: 'retry',
      attempt: this.#attempts,
      delay,
      reason: fault.error.code,
      left,
      error: reportOf(fault.error),
    }));
    // A pause holds in the limiter, for this request like for all others.
    if (!fault.pauses) await sleep(clock, delay, this.#stop.signal);
  }

  /** Acquires a permit and sends the attempt. The permit is given back if nothing was written: in doubt, it counts. */
  async #send(again: Again): Promise<Outcome> {
    const { number, isFresh, isRenewed, outdated, requested } = again;
    const { adapter, clock, timeouts, onLimiter } = this.#options;
    const { route, limiter, credentials, isRepeatable = true } = this.#call;
    const { signal } = this.#stop;
    const asked = clock.monotonic();
    this.#stopwatch.pause();
    const acquired = limiter.acquire({ route, signal });
    onLimiter?.(limiter);
    const permit = await acquired;
    again.waited += clock.monotonic() - asked;
    let mayBeWritten = false;
    let ended: (() => void) | undefined;
    let signedAt: number | undefined;
    const onWrite = (): boolean => {
      const isStale = signedAt !== undefined && clock.monotonic() - signedAt > longestUnwritten;
      const mayWrite = !isStale && (permit.started?.() ?? true);
      mayBeWritten ||= mayWrite;
      return mayWrite;
    };
    try {
      // The abort may come in the same moment as the permit.
      signal.throwIfAborted();
      this.#stopwatch.run();
      if (isRenewed) await credentials.prepare?.({ hasPermit: true, untimed: this.#untimed });
      // Added here, where links, axios, retries and errors cannot see the credentials.
      const sent = credentials.current(isRenewed);
      if (!sent) return { kind: 'expired' };
      const { url: to, redirects } = requested;
      const request = stampRequest(redirects === 0 ? this.#call : { ...this.#call, url: to }, sent);
      // Signed with its permit, so that a time in the signature is that of sending.
      const signed = sent.sign && (await abortable(sent.sign(request), signal));
      ended = signed?.hide();
      const { url, method, headers, body } = signed ?? request;
      // One that may not use the connection that is open then would be late again.
      if (ended && isRepeatable && outdated < maxOutdated) signedAt = clock.monotonic();
      signal.throwIfAborted();
      this.#attempts = number;
      const began = clock.monotonic();
      this.#emit('attempt', () => ({
        route,
        request: this.#number,
        type: 'attempt',
        attempt: number,
        waited: again.waited,
      }));
      again.waited = 0;
      onLimiter?.(limiter);
      // On a connection that was idle, a lost request may have been carried out or not: it could not be sent again.
      const isNew = isFresh || !isRepeatable;
      mayBeWritten = adapter.announcesWrites !== true;
      const response = await sendAttempt(
        { url, method, headers, body, isFresh: isNew, signal, onWrite },
        { adapter, clock, deadline: timeouts.response, onLate: () => this.#stopwatch.restart(), stop: this.#stop },
      );
      const took = clock.monotonic() - began;
      if (!(response instanceof AdapterFault)) return this.#read(response, { permit, requested, sent, took });
      const { kind } = response;
      // The deadline of the attempt aborted it. A request that is over stays aborted.
      if (kind === 'late' && !this.#isOver) this.#stop = new AbortController();
      if (kind === 'stale' && !isNew) return { kind };
      if (kind === 'outdated' && outdated < maxOutdated) return { kind };
      const { maxBodyBytes, address = 'base URL' } = this.#options;
      const { isKnown = () => false } = this.#call;
      const limits = { timeouts, maxBodyBytes, url: this.#call.url, address, isKnown: isKnown() };
      return this.#failed(connectionFault(response, route, limits), sent, took);
    } finally {
      ended?.();
      permit.release(mayBeWritten ? undefined : 'unwritten');
      onLimiter?.(limiter);
    }
  }

  /** Reads a response while its attempt holds the permit, so what it says reaches the limiter before the next permit. */
  #read(response: AttemptResponse, { permit, requested, sent, took }: SentAttempt): Outcome {
    const { clock } = this.#options;
    const { route, read, credentials } = this.#call;
    const { status } = response;
    const notice = permit.observe?.({ status, headers: response.headers }) ?? {};
    const { quota } = notice;
    this.#emit('response', () => {
      const attempt = this.#attempts;
      const event = { route, request: this.#number, type: 'response', attempt, status, took } as const;
      return quota ? { ...event, quota } : event;
    });
    const reading = read(response, clock.now(), requested);
    const { renews = false, retry: isOutage = false } = 'fault' in reading ? reading.fault : {};
    if (!renews) credentials.notRefused?.(sent, isOutage);
    const { url, redirects } = requested;
    if ('redirectTo' in reading)
      return { kind: 'redirected', to: { url: reading.redirectTo, redirects: redirects + 1 } };
    if (reading.ok) {
      const { body, pause = 0 } = reading;
      if (pause > 0) this.#pauseFor(pause, 'retry-after');
      const result = { status, headers: response.headers, body, attempts: this.#attempts };
      return { kind: 'answered', response: redirects === 0 ? result : { ...result, redirectedTo: url } };
    }
    const fault = underQuota(reading.fault, notice, this.#wasForbidden);
    this.#wasForbidden ||= status === 403 && fault.retry;
    return this.#failed(fault, sent, took);
  }

  #failed(found: AttemptFault, sent: Stamped, took: number): FailedAttempt {
    const isUndecided = found.retry && this.#call.isRepeatable === false && !found.isUnsent;
    const fault = isUndecided ? { ...found, retry: false } : found;
    if (isUndecided) amend(fault.error, 'It was not sent again, because the API may have carried it out.');
    // One that took longer than it may did so while the process stood still.
    const counted = Math.min(took, this.#options.timeouts.response);
    const failure = this.#retries.planNext(fault, this.#attempts, counted);
    this.#pauseLimiter(failure);
    return { kind: 'failed', failure, sent };
  }

  readonly #untimed = async <T>(work: Promise<T>): Promise<T> => {
    this.#stopwatch.pause();
    try {
      return await work;
    } finally {
      if (!this.#isOver) this.#stopwatch.run();
    }
  };

  /** The pause applies to all requests. The failed attempt still holds its permit, so none can start before it. */
  #pauseLimiter({ fault, delay, isRequested }: AttemptFailure): void {
    const { onLimiter } = this.#options;
    const { route, limiter } = this.#call;
    if (fault.usedUp) {
      const { wait, quota } = fault.usedUp;
      this.#emit('paused', () => ({
        route,
        request: this.#number,
        type: 'paused',
        for: wait,
        ...(quota && { quota }),
      }));
      onLimiter?.(limiter, 'quota');
      return;
    }
    if (fault.pauses) this.#pauseFor(delay, isRequested ? 'retry-after' : 'back-off');
  }

  #pauseFor(ms: number, cause: PauseCause): void {
    const { onLimiter } = this.#options;
    const { route, limiter } = this.#call;
    const pause = Math.min(ms, longestPause);
    limiter.pause(pause);
    this.#emit('paused', () => ({ route, request: this.#number, type: 'paused', for: pause }));
    onLimiter?.(limiter, cause);
  }

  /** `make` lists the fields of an event: V8 is many times slower at a spread that more fields follow. */
  readonly #emit: Emit<HttpEvent> = (type, make) => {
    if (!this.#isOver) this.#options.emit(type, make);
  };
}

/** Ms. Other requests keep a pause even if this one gives up, but an absurd one must not hold them for good. */
const longestPause = 86_400_000;

/**
 * The outcome of an attempt that was sent. It is sent again at once, with another permit, after a redirect, and if nothing
 * was written: the server had closed the idle connection (`stale`), the credentials `expired` while it waited for its
 * permit, or the permit was `outdated` when the connection was open.
 */
type Outcome =
  | { readonly kind: 'answered'; readonly response: TransportResponse }
  | { readonly kind: 'redirected'; readonly to: RequestedUrl }
  | { readonly kind: 'stale' | 'expired' | 'outdated' }
  | FailedAttempt;

interface FailedAttempt {
  readonly kind: 'failed';
  readonly failure: AttemptFailure;
  /** The credentials that it was sent with. */
  readonly sent: Stamped;
}

/** An attempt whose response has arrived. */
interface SentAttempt {
  readonly permit: Permit;
  readonly requested: RequestedUrl;
  readonly sent: Stamped;
  /** Ms. */
  readonly took: number;
}

/** How an attempt is sent, which may have failed before it was written. */
interface Again {
  /** Counts a request's attempts from 1. */
  readonly number: number;
  /** Over a new connection. */
  isFresh: boolean;
  /** Its last permit came too late for the credentials. If the next one does, too, they are renewed while it is held. */
  isRenewed: boolean;
  /** Permits in a row that were too old, but for those that a pause had ended. */
  outdated: number;
  /** Ms that it has waited for permits since it was begun or sent: one may be given back unused. */
  waited: number;
  /** A redirect changes it. */
  requested: RequestedUrl;
}

const maxOutdated = 9;

/** Ms from a signature to the moment when it is written. APIs refuse a time that is 5 seconds old, some an earlier one. */
const longestUnwritten = 1_000;
