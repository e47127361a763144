import { sleep, type Clock } from '../clock.js';
import { reportOf } from '../errorReport.js';
import { type Advice, amend, RateLimitError, type SluiceError } from '../errors.js';
import { type Adapter, AdapterFault, type AttemptAnswer } from './adapter/adapter.js';
import { closedError, faultOf, faultUnderQuota, timeoutError, type AttemptFault, type ReadResult } from './answer.js';
import type { Credentials, Stamp, Stamped } from './credentials.js';
import { type Emit, type HttpEvent, requestEvent, type RequestOutcome } from './events.js';
import type { HttpMethod } from './requestDetails.js';
import type { Limiter } from './limiterTypes.js';
import type { PauseCause } from './limiterReports.js';
import type { Timeouts } from './requestTimes.js';
import { backoff, dateAfter, type RetryOptions } from './retryPolicy.js';
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
  readonly read: (answer: AttemptAnswer, now: number) => ReadResult;
  readonly signal?: AbortSignal | undefined;
}

export interface AttemptSuccess {
  readonly status: number;
  readonly headers: AttemptAnswer['headers'];
  readonly body: unknown;
}

/** Why an attempt failed, and for how long it may be retried. */
export interface AttemptFailure {
  readonly fault: AttemptFault;
  /** Ms until the next attempt, if there is one. */
  readonly delay: number;
  /** Ms that remain for retries. */
  readonly left: number;
}

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
  readonly #unwatch: readonly (() => void)[];
  /** Aborts waits, attempts and back-off. Replaced when an attempt exceeds its deadline, which aborts it, too. */
  #stop = new AbortController();
  #isOver = false;
  readonly #number: number;
  readonly #began: number;
  #retries = 0;
  #wasRenewed = false;
  /** The credentials of the latest attempt. */
  #sent: Stamped | undefined;
  /** Whether a 403 was taken for a pause. */
  #wasForbidden = false;
  /** Ms since the first attempt failed, without waits for the limiter. */
  #outage: number | undefined;
  #isSettled = false;

  constructor(options: ExchangeOptions, call: Call, { number, signals, headers, onEnd }: ExchangeContext) {
    this.#options = options;
    this.#call = call;
    this.#headers = headers;
    this.#number = number;
    this.#onEnd = onEnd;
    const { timeouts, closed, clock } = options;
    const { route, signal, method, shownUrl } = call;
    this.#began = clock.monotonic();
    this.#stopwatch = new Stopwatch(clock, timeouts.total, () =>
      this.#fail(timeoutError(route, 'total', timeouts.total)),
    );
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

  /** One attempt. If the API refuses the credentials, they are renewed and it is sent once more. */
  async attempt(): Promise<AttemptSuccess | AttemptFailure> {
    const { credentials } = this.#call;
    this.#stop.signal.throwIfAborted();
    this.#stopwatch.run();
    let stamp = await credentials.prepare();
    let again: Again = { isFresh: false, isRenewed: false, outdated: 0 };
    let outcome = await this.#send(stamp, again);
    while (typeof outcome === 'string') {
      if (outcome === 'expired') stamp = await credentials.prepare();
      again = nextTry(again, outcome);
      outcome = await this.#send(stamp, again);
    }
    const sent = this.#sent;
    if (this.#wasRenewed || !sent || !('fault' in outcome) || outcome.fault.status !== 401) return outcome;
    this.#wasRenewed = true;
    return (await credentials.renew(sent)) ? this.attempt() : outcome;
  }

  /** Whether to retry. A `Retry-After` is obeyed unless it exceeds the longest wait that is allowed. */
  shouldRetry({ fault, left }: AttemptFailure): boolean {
    const { retries } = this.#options.retry;
    return (
      fault.retry &&
      left > 0 &&
      this.#retries < retries &&
      (fault.retryAfter ?? 0) <= this.#options.retry.maxRetryAfter &&
      !this.#isOver
    );
  }

  /** Waits before the next attempt, without a permit. What the API asked for does not count towards the total deadline. */
  async backOff({ fault, delay, left }: AttemptFailure): Promise<void> {
    this.#retries += 1;
    if ((fault.retryAfter ?? 0) > 0) this.#stopwatch.pause();
    const { error } = fault;
    const reason = error.code;
    this.#emit('retry', () => ({
      ...this.#requestId,
      type: 'retry',
      attempt: this.attempts,
      delay,
      reason,
      left,
      error: reportOf(error),
    }));
    // A pause holds in the limiter, for this request like for all others.
    if (!fault.pauses) await sleep(this.#options.clock, delay, this.#stop.signal);
  }

  finalError({ fault, left }: AttemptFailure): Error {
    const { status, retryAfter: requested } = fault;
    const { maxRetryAfter } = this.#options.retry;
    if (!fault.retry || status === undefined || requested === undefined || requested <= maxRetryAfter)
      return this.#withAttempts(fault, left);
    const { route } = this.#call;
    const retryAt = dateAfter(this.#options.clock.now(), requested);
    const until = retryAt ? ` (until ${retryAt.toISOString()})` : '';
    const message = `${route}: the server asked to wait ${secondsOf(requested)}${until}, but the limit is ${secondsOf(maxRetryAfter)}.`;
    return new RateLimitError(message, {
      status,
      retryAt,
      details: { route, retryAfter: requested },
      advice: [{ kind: 'wait' }, { kind: 'raise', option: 'maxRetryAfter' }],
    });
  }

  /** Says in an error that retries did not help. */
  #withAttempts({ error, retry }: AttemptFault, left: number): SluiceError {
    if (this.attempts === 1) return error;
    const isOutOfTime = retry && left === 0;
    const within = isOutOfTime ? ` within ${secondsOf(this.#options.retry.for)}` : '';
    const advice: readonly Advice[] = isOutOfTime ? [{ kind: 'raise', option: 'retry.for' }] : [];
    amend(error, `It was tried ${this.attempts} times${within}.`, advice);
    return error;
  }

  /**
   * Acquires a permit and sends the attempt. The permit is given back if nothing was written: in doubt, it counts.
   */
  async #send(
    stamp: Stamp,
    { isFresh, isRenewed, outdated }: Again,
  ): Promise<AttemptSuccess | AttemptFailure | Unsent> {
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
      if (!isFresh && outdated === 0) this.attempts += 1;
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

  /** @param took ms of the attempt; not counted for the first failure, since the outage starts at its end */
  #failure(found: AttemptFault, took: number): AttemptFailure {
    const isUndecided = found.retry && this.#call.isRepeatable === false && !found.isUnsent;
    const fault = isUndecided ? { ...found, retry: false } : found;
    if (isUndecided) amend(fault.error, 'It was not sent again, because the API may have carried it out.');
    const { retry, random, onLimiter } = this.#options;
    const { limiter } = this.#call;
    const outage = this.#outage === undefined ? 0 : this.#outage + took;
    const left = Math.max(0, retry.for - outage);
    // The last attempt starts when the time for retries ends.
    const ownDelay = Math.min(left, backoff(this.attempts, retry, random()));
    const requested = fault.usedUp?.wait ?? fault.retryAfter ?? 0;
    // `Retry-After: 0` must not become a loop without a pause.
    const delay = requested > 0 ? requested : ownDelay;
    // A service that sends a `Retry-After` is running, so it counts no more than a back-off; but retries must end.
    this.#outage = outage + Math.min(delay, ownDelay);
    if (fault.usedUp) {
      const { wait, quota } = fault.usedUp;
      this.#emit('paused', () => ({ ...this.#requestId, type: 'paused', for: wait, ...(quota && { quota }) }));
      onLimiter?.(limiter, 'quota');
    } else if (fault.pauses) {
      // The pause applies to all requests. This attempt still holds its permit, so none can start before it.
      const pause = Math.min(delay, longestPause);
      limiter.pause(pause);
      this.#emit('paused', () => ({ ...this.#requestId, type: 'paused', for: pause }));
      onLimiter?.(limiter, requested > 0 ? 'retry-after' : 'back-off');
    }
    return { fault, delay, left };
  }

  get #requestId(): { readonly route: string; readonly request: number } {
    return { route: this.#call.route, request: this.#number };
  }

  readonly #emit: Emit<HttpEvent> = (type, make) => {
    if (!this.#isSettled) this.#options.emit(type, make);
  };

  #fail(error: SluiceError): void {
    this.settle(() => ({ outcome: 'failed', error: reportOf(error) }));
    this.#end(error);
  }

  #end(reason: unknown): void {
    this.close();
    this.#onEnd(reason);
    this.#isOver = true;
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

interface Again {
  /** Over a new connection. */
  readonly isFresh: boolean;
  /** If the limiter takes longer than renewed credentials live, they are renewed while the permit is held. */
  readonly isRenewed: boolean;
  /** Permits in a row that were too old. */
  readonly outdated: number;
}

const maxOutdated = 9;

function nextTry(last: Again, reason: Unsent): Again {
  switch (reason) {
    case 'stale':
      return { ...last, isFresh: true };
    case 'expired':
      return { ...last, isRenewed: true };
    case 'outdated':
      return { ...last, outdated: last.outdated + 1 };
  }
}

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

function secondsOf(ms: number): string {
  return ms < 1000 ? `${String(ms)} ms` : `${String(Math.round(ms / 1000))} s`;
}
