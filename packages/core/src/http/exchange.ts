import { sleep, type Clock } from '../clock.js';
import { reportOf } from '../errorReport.js';
import { amend, type SluiceError } from '../errors.js';
import { type Adapter, AdapterFault, type AttemptResponse } from './adapter/adapter.js';
import {
  closedError,
  faultOf,
  faultUnderQuota,
  timeoutError,
  type AttemptFault,
  type ReadResult,
} from './response/readResponse.js';
import type { Credentials, Stamp, Stamped } from './credentials/credentials.js';
import { type Emit, type HttpEvent, requestEvent, type RequestOutcome } from './events.js';
import type { HttpMethod } from './requestDetails.js';
import type { Limiter } from './limit/limiterTypes.js';
import type { PauseCause } from './limit/limiterReports.js';
import type { Timeouts } from './requestTimes.js';
import { type AttemptFailure, Retries } from './retry/retries.js';
import type { RetryOptions } from './retry/retryPolicy.js';
import type { SignalWatch } from './signalWatch.js';
import { withoutParam } from './query.js';
import { type HeaderJoiner, sendAttempt } from './sendAttempt.js';
import { Stopwatch } from './stopwatch.js';

export interface ExchangeOptions {
  readonly adapter: Adapter;
  readonly clock: Clock;
  readonly random: () => number;
  readonly timeouts: Timeouts;
  readonly retry: RetryOptions;
  readonly maxBodyBytes: number;
  readonly emit: Emit<HttpEvent>;
  /** Told whenever the state of a limiter changes, and why it is paused. */
  readonly onLimiter?: (limiter: Limiter, cause?: PauseCause) => void;
  /** Aborted when the client closes; ends every request. */
  readonly closed: AbortSignal;
}

export interface Call {
  readonly route: string;
  readonly url: string;
  /** The redacted URL, for events. */
  readonly shownUrl: () => string;
  readonly method: HttpMethod;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Gives each attempt its permit. */
  readonly limiter: Limiter;
  /** `false`: it is not retried once it was sent. Default `true`. */
  readonly isRepeatable?: boolean;
  /** Added to each attempt, below links and retries. */
  readonly credentials: Credentials;
  /** Reads a response. `now` is wall time in ms. */
  readonly read: (answer: AttemptResponse, now: number) => ReadResult;
  readonly signal?: AbortSignal | undefined;
}

interface AttemptSuccess {
  readonly status: number;
  readonly headers: AttemptResponse['headers'];
  readonly body: unknown;
}

export type AttemptOutcome = AttemptSuccess | AttemptFailure;

/** What the exchanges of a client share, and which one this is. */
interface ExchangeContext {
  /** The number of the request in the client. */
  readonly number: number;
  readonly signals: SignalWatch;
  readonly headers: HeaderJoiner;
  /** Called at once, with the reason, when the caller, the total deadline or closing the client ends it. */
  readonly onEnd: (reason: unknown) => void;
}

/** One request and its attempts: each acquires a permit, gets its credentials, and has deadlines. */
export class Exchange {
  attempts = 0;
  readonly #options: ExchangeOptions;
  readonly #call: Call;
  readonly #headers: HeaderJoiner;
  readonly #onEnd: (reason: unknown) => void;
  readonly #stopwatch: Stopwatch;
  readonly #retries: Retries;
  readonly #unwatch: readonly (() => void)[];
  /** Aborts waits, attempts and back-off. Replaced when an attempt exceeds its deadline, which aborts it, too. */
  #stop = new AbortController();
  readonly #number: number;
  readonly #began: number;
  #wasRenewed = false;
  /** The credentials of the latest attempt. */
  #sent: Stamped | undefined;
  /** Whether a 403 was taken for a pause. */
  #wasForbidden = false;
  #isSettled = false;

  constructor(options: ExchangeOptions, call: Call, { number, signals, headers, onEnd }: ExchangeContext) {
    this.#options = options;
    this.#call = call;
    this.#headers = headers;
    this.#number = number;
    this.#onEnd = onEnd;
    const { timeouts, closed, clock, retry, random } = options;
    const { route, signal, method, shownUrl } = call;
    this.#began = clock.monotonic();
    this.#stopwatch = new Stopwatch(clock, timeouts.total, () =>
      this.#fail(timeoutError(route, 'total', timeouts.total)),
    );
    this.#retries = new Retries(retry, random);
    const unwatch = [signals.watch(closed, () => this.#fail(closedError(route)))];
    if (signal)
      unwatch.push(
        signals.watch(signal, () => {
          this.settle(() => ({ outcome: 'stopped' }));
          this.#end(signal.reason);
        }),
      );
    this.#unwatch = unwatch;
    // Last, because an observer may abort the request during the event.
    this.#emit('request', () => requestEvent({ route, request: this.#number, method }, shownUrl));
  }

  close(): void {
    this.#stopwatch.stop();
    for (const unwatch of this.#unwatch) unwatch();
  }

  /** Emits the outcome, once. No event follows it. */
  settle(outcome: () => RequestOutcome): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    const { clock, emit } = this.#options;
    emit('settled', () => {
      const { route } = this.#call;
      const took = clock.monotonic() - this.#began;
      return { route, request: this.#number, type: 'settled', attempts: this.attempts, took, ...outcome() };
    });
  }

  /**
   * One attempt. If the API refuses the credentials, they are renewed and it is sent once more. What else is thrown ends
   * the exchange, and reaches the caller directly: axios would modify it.
   */
  async attempt(): Promise<AttemptOutcome> {
    try {
      return await this.#attempt();
    } catch (error) {
      this.#fail(error);
      throw new Error('The request has ended.');
    }
  }

  async #attempt(): Promise<AttemptOutcome> {
    const { credentials, limiter } = this.#call;
    this.#stop.signal.throwIfAborted();
    this.#stopwatch.run();
    let stamp = await credentials.prepare();
    const how = { isFresh: false, isRenewed: false, isUnwritten: false, outdated: 0 };
    let outcome = await this.#send(stamp, how);
    while (typeof outcome === 'string') {
      if (outcome === 'expired') stamp = await credentials.prepare();
      how.isFresh ||= outcome === 'stale';
      how.isRenewed ||= outcome === 'expired';
      how.isUnwritten ||= outcome === 'outdated';
      // A pause may begin whenever a connection opens: it ends by itself.
      if (outcome === 'outdated' && limiter.state.pausedFor === 0) how.outdated += 1;
      outcome = await this.#send(stamp, how);
    }
    const sent = this.#sent;
    if (this.#wasRenewed || !sent || !('fault' in outcome) || outcome.fault.status !== 401) return outcome;
    this.#wasRenewed = true;
    return (await credentials.renew(sent)) ? this.#attempt() : outcome;
  }

  shouldRetry(failure: AttemptFailure): boolean {
    return !this.#isSettled && this.#retries.allow(failure);
  }

  /** Waits before the next attempt, without a permit. What the API asked for does not count towards the total deadline. */
  async backOff({ fault, delay, left }: AttemptFailure): Promise<void> {
    this.#retries.begin();
    if ((fault.retryAfter ?? 0) > 0) this.#stopwatch.pause();
    const { error } = fault;
    const retry = { type: 'retry', attempt: this.attempts, delay, reason: error.code, left } as const;
    this.#emit('retry', () => ({ ...this.#requestId, ...retry, error: reportOf(error) }));
    // A pause holds in the limiter, for this request like for all others.
    if (!fault.pauses) await sleep(this.#options.clock, delay, this.#stop.signal);
  }

  finalError(failure: AttemptFailure): SluiceError {
    const { route } = this.#call;
    return this.#retries.finalError(failure, { route, attempts: this.attempts, now: this.#options.clock.now() });
  }

  /**
   * Acquires a permit and sends the attempt. The permit is given back if nothing was written: in doubt, it counts.
   */
  async #send(stamp: Stamp, { isFresh, isRenewed, isUnwritten, outdated }: Again): Promise<AttemptOutcome | Unsent> {
    const { adapter, clock, timeouts, onLimiter } = this.#options;
    const { route, url, method, body, read, limiter, isRepeatable = true } = this.#call;
    const { signal } = this.#stop;
    const requested = clock.monotonic();
    this.#stopwatch.pause();
    const acquired = limiter.acquire({ route, signal });
    onLimiter?.(limiter);
    const permit = await acquired;
    let mayBeWritten = false;
    const onWrite = (): boolean => {
      const mayWrite = permit.started?.() ?? true;
      mayBeWritten ||= mayWrite;
      return mayWrite;
    };
    try {
      // The abort may come in the same moment as the permit.
      signal.throwIfAborted();
      this.#stopwatch.run();
      // Added here, where links, axios, retries and errors cannot see the credentials.
      const stamped = stamp() ?? (isRenewed ? (await this.#call.credentials.prepare())(true) : undefined);
      if (!stamped) return 'expired';
      signal.throwIfAborted();
      this.#sent = stamped;
      if (!isFresh && !isUnwritten) this.attempts += 1;
      const attempt = this.attempts;
      const began = clock.monotonic();
      const waited = began - requested;
      this.#emit('attempt', () => ({ route, request: this.#number, type: 'attempt', attempt, waited }));
      onLimiter?.(limiter);
      // On a connection that was idle, a lost request may have been carried out or not: it could not be sent again.
      const isNew = isFresh || !isRepeatable;
      const sentUrl = withCredential(url, stamped.query);
      const headers = this.#headers.join(this.#call.headers, stamped.headers);
      mayBeWritten = adapter.announcesWrites !== true;
      const answer = await sendAttempt(
        { url: sentUrl, method, headers, body, isFresh: isNew, signal, onWrite },
        { adapter, clock, deadline: timeouts.response, stop: this.#stop },
      );
      if (answer === 'late') this.#stop = new AbortController();
      if (answer instanceof AdapterFault && answer.kind === 'stale' && !isNew) return 'stale';
      if (answer instanceof AdapterFault && answer.kind === 'outdated' && outdated < maxOutdated) return 'outdated';
      const took = clock.monotonic() - began;
      if (answer instanceof AdapterFault || answer === 'late') return this.#failure(this.#faultOf(answer), took);
      const { status } = answer;
      // What it says reaches the limiter before the next permit, since this one is still held.
      const notice = permit.observe?.({ status, headers: answer.headers }) ?? {};
      const { quota } = notice;
      this.#emit('response', () => ({
        ...this.#requestId,
        type: 'response',
        attempt,
        status,
        took,
        ...(quota && { quota }),
      }));
      const reading = read(answer, clock.now());
      if (reading.ok) return { status, headers: answer.headers, body: reading.body };
      const fault = faultUnderQuota(reading.fault, notice, this.#wasForbidden);
      this.#wasForbidden ||= status === 403 && fault.retry;
      return this.#failure(fault, took);
    } finally {
      permit.release(mayBeWritten ? undefined : 'unwritten');
      onLimiter?.(limiter);
    }
  }

  #faultOf(answer: AdapterFault | 'late'): AttemptFault {
    const { timeouts, maxBodyBytes } = this.#options;
    const { route, url } = this.#call;
    if (answer === 'late') return { error: timeoutError(route, 'response', timeouts.response), retry: true };
    return faultOf(answer, route, { connect: timeouts.connect, maxBodyBytes, host: new URL(url).hostname });
  }

  #failure(found: AttemptFault, took: number): AttemptFailure {
    const isUndecided = found.retry && this.#call.isRepeatable === false && !found.isUnsent;
    const fault = isUndecided ? { ...found, retry: false } : found;
    if (isUndecided) amend(fault.error, 'It was not sent again, because the API may have carried it out.');
    const failure = this.#retries.failed(fault, this.attempts, took);
    this.#pauseLimiter(failure);
    return failure;
  }

  /** The pause applies to all requests. The failed attempt still holds its permit, so none can start before it. */
  #pauseLimiter({ fault, delay }: AttemptFailure): void {
    const { onLimiter } = this.#options;
    const { limiter } = this.#call;
    if (fault.usedUp) {
      const { wait, quota } = fault.usedUp;
      this.#emit('paused', () => ({ ...this.#requestId, type: 'paused', for: wait, ...(quota && { quota }) }));
      onLimiter?.(limiter, 'quota');
      return;
    }
    if (!fault.pauses) return;
    const pause = Math.min(delay, longestPause);
    limiter.pause(pause);
    this.#emit('paused', () => ({ ...this.#requestId, type: 'paused', for: pause }));
    onLimiter?.(limiter, (fault.retryAfter ?? 0) > 0 ? 'retry-after' : 'back-off');
  }

  get #requestId(): { readonly route: string; readonly request: number } {
    return { route: this.#call.route, request: this.#number };
  }

  readonly #emit: Emit<HttpEvent> = (type, make) => {
    if (!this.#isSettled) this.#options.emit(type, make);
  };

  #fail(error: unknown): void {
    this.settle(() => ({ outcome: 'failed', error: reportOf(error) }));
    this.#end(error);
  }

  #end(reason: unknown): void {
    this.close();
    this.#onEnd(reason);
    // Without the reason: axios modifies errors that pass through it, and this one is the caller's.
    this.#stop.abort();
  }
}

/** Ms. Other requests keep a pause even if this one gives up, but an absurd one must not hold them for good. */
const longestPause = 86_400_000;

/**
 * Why an attempt is made again at once, with another permit: the server had closed the idle connection, the credentials
 * expired while it waited for its permit, or the permit was too old when the connection was open.
 */
type Unsent = 'stale' | 'expired' | 'outdated';

/** How an attempt is made after those of which nothing was sent. */
interface Again {
  /** Over a new connection. */
  readonly isFresh: boolean;
  /** If the limiter takes longer than renewed credentials live, they are renewed while the permit is held. */
  readonly isRenewed: boolean;
  /** Its last permit was too old when it could be written. */
  readonly isUnwritten: boolean;
  /** Permits in a row that were too old, but for those that a pause had ended. */
  readonly outdated: number;
}

const maxOutdated = 9;

/**
 * Adds the query parameter of a credential. As with headers, it replaces one of the same name.
 *
 * @param credential encoded, `name=value`
 */
function withCredential(url: string, credential: string | undefined): string {
  if (credential === undefined) return url;
  const [path = '', query = ''] = url.split('?');
  const [name = ''] = new URLSearchParams(credential).keys();
  const rest = withoutParam(query, name);
  return `${path}?${rest === '' ? '' : `${rest}&`}${credential}`;
}
