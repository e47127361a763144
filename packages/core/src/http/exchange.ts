import { sleep, type Clock } from '../clock.js';
import { reportOf } from '../errorReport.js';
import { type Advice, amend, RateLimitError, type SluiceError } from '../errors.js';
import { type Adapter, AdapterFault, type AttemptAnswer } from './adapter/adapter.js';
import { closedError, faultOf, timeoutError, type AttemptFault, type Reading } from './answer.js';
import type { Credentials, Stamp } from './apiKey.js';
import type { Emit, HttpEvent, RequestOutcome } from './events.js';
import type { Limiter } from './limiter.js';
import type { Timeouts } from './requestTimes.js';
import { backoff, dateAfter, type RetryOptions } from './retryPolicy.js';
import type { SignalWatch } from './signalWatch.js';
import { sendAttempt, sentHeaders } from './sendAttempt.js';
import { Stopwatch } from './stopwatch.js';

export interface ExchangeOptions {
  readonly adapter: Adapter;
  readonly limiter: Limiter;
  readonly clock: Clock;
  readonly random: () => number;
  readonly timeouts: Timeouts;
  readonly retry: RetryOptions;
  readonly maxBodyBytes: number;
  readonly emit: Emit<HttpEvent>;
  /** Aborted when the client closes: ends whatever is under way. */
  readonly closed: AbortSignal;
}

export interface Call {
  readonly route: string;
  readonly url: string;
  /** The address without secrets, for those who watch. */
  readonly shownUrl: () => string;
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** What each attempt carries besides, below links and retries. */
  readonly credentials: Credentials;
  /** What an answer means. `now` is wall time in ms. */
  readonly read: (answer: AttemptAnswer, now: number) => Reading;
  readonly signal?: AbortSignal | undefined;
}

/** An answer that could be read. */
export interface AttemptSuccess {
  readonly status: number;
  readonly headers: AttemptAnswer['headers'];
  readonly body: unknown;
}

/** Why an attempt failed, and for how long that is tried. */
export interface AttemptFailure {
  readonly fault: AttemptFault;
  /** Ms until the next attempt, should there be one. */
  readonly delay: number;
  /** Ms for which the fault is tried from here on. */
  readonly left: number;
}

/**
 * One request and its attempts: each takes its turn at the limiter, gets its credentials, and is held to its deadlines.
 */
export class Exchange {
  attempts = 0;
  readonly #options: ExchangeOptions;
  readonly #call: Call;
  readonly #onEnd: (reason: unknown) => void;
  readonly #stopwatch: Stopwatch;
  readonly #unwatch: readonly (() => void)[];
  /** Ends what is under way: a wait for a turn, an attempt, a back-off. An attempt that was too late has used its own up. */
  #stop = new AbortController();
  #isOver = false;
  readonly #number: number;
  readonly #began: number;
  #retries = 0;
  #wasRenewed = false;
  /** Ms since its first attempt failed, waits for the limiter left out. */
  #outage: number | undefined;
  #isSettled = false;

  /**
   * @param number tells it from the client's other requests.
   * @param onEnd is told at once when the caller, the total deadline or the closing client ends the request, and why.
   */
  constructor(
    options: ExchangeOptions,
    call: Call,
    { number, signals, onEnd }: { number: number; signals: SignalWatch; onEnd: (reason: unknown) => void },
  ) {
    this.#options = options;
    this.#call = call;
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
    // Last, since whoever is told of it may abort it there and then.
    this.#emit(() => ({ ...this.#about, type: 'request', method, url: shownUrl() }));
  }

  close(): void {
    this.#stopwatch.stop();
    for (const unwatch of this.#unwatch) unwatch();
  }

  /** How it ended. What comes to light later is about nobody's request any more. */
  settle(outcome: () => RequestOutcome): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    const { clock, emit } = this.#options;
    emit(() => {
      const took = clock.monotonic() - this.#began;
      return { ...this.#about, type: 'settled', attempts: this.attempts, took, ...outcome() };
    });
  }

  /** One attempt. Refused credentials are renewed and tried once more here. */
  async attempt(): Promise<AttemptSuccess | AttemptFailure> {
    const { credentials } = this.#call;
    this.#stop.signal.throwIfAborted();
    this.#stopwatch.run();
    const stamp = await credentials.prepare();
    let outcome = await this.#send(stamp, false);
    // Nobody can have closed a fresh connection while it idled, so this happens once.
    while (outcome === 'stale') outcome = await this.#send(stamp, true);
    if (this.#wasRenewed || !('fault' in outcome) || outcome.fault.status !== 401) return outcome;
    this.#wasRenewed = true;
    return (await credentials.renew(stamp)) ? this.attempt() : outcome;
  }

  /** Whether another attempt may do better. What the API requested for is obeyed, as long as that is no hopeless wait. */
  shouldRetry({ fault, left }: AttemptFailure): boolean {
    const { retries } = this.#options.retry;
    return (
      fault.retry &&
      left > 0 &&
      this.#retries < retries &&
      (fault.retryAfter ?? 0) <= this.#longestWait(fault) &&
      !this.#isOver
    );
  }

  /** The back-off after a failed attempt. It holds no turn, and counts towards the total deadline. */
  async backOff({ fault, delay, left }: AttemptFailure): Promise<void> {
    this.#retries += 1;
    const { error } = fault;
    const reason = error.code;
    this.#emit(() => ({
      ...{ ...this.#about, type: 'retry', attempt: this.attempts, delay, reason },
      ...{ left, error: reportOf(error) },
    }));
    // All requests are paused: the next attempt waits with the others, at the limiter.
    if (!fault.pauses) await sleep(this.#options.clock, delay, this.#stop.signal);
  }

  finalError({ fault, left }: AttemptFailure): Error {
    const { status, retryAfter: requested } = fault;
    const longest = this.#longestWait(fault);
    if (!fault.retry || status === undefined || requested === undefined || requested <= longest)
      return this.#counted(fault, left);
    const { maxRetryAfter } = this.#options.retry;
    const { route } = this.#call;
    const bound = longest < maxRetryAfter ? 'timeouts.total' : 'maxRetryAfter';
    const retryAt = dateAfter(this.#options.clock.now(), requested);
    const until = retryAt ? ` (until ${retryAt.toISOString()})` : '';
    const message = `${route} was told to wait ${secondsOf(requested)}${until}, longer than the ${secondsOf(longest)} that are allowed.`;
    return new RateLimitError(message, {
      ...{ status, retryAt, details: { route } },
      advice: [{ kind: 'wait' }, { kind: 'raise', option: bound }],
    });
  }

  /** A fault that stayed through all retries says so: whoever waited for them wants to know. */
  #counted({ error, retry }: AttemptFault, left: number): SluiceError {
    if (this.attempts === 1) return error;
    const isOutOfTime = retry && left === 0;
    const within = isOutOfTime ? ` within ${secondsOf(this.#options.retry.for)}` : '';
    const advice: readonly Advice[] = isOutOfTime ? [{ kind: 'raise', option: 'retry.for' }] : [];
    amend(error, `It was tried ${this.attempts} times${within}.`, advice);
    return error;
  }

  /**
   * Sends the attempt, on its turn.
   *
   * @param isFresh whether it is sent again, over a connection of its own: the one before had been closed while it idled.
   */
  async #send(stamp: Stamp, isFresh: boolean): Promise<AttemptSuccess | AttemptFailure | 'stale'> {
    const { adapter, limiter, clock, timeouts } = this.#options;
    const { route, url, method, body, read } = this.#call;
    const { signal } = this.#stop;
    const requested = clock.monotonic();
    this.#stopwatch.pause();
    const permit = await limiter.acquire({ route, signal });
    try {
      // The end may come in the same moment as the turn.
      signal.throwIfAborted();
      this.#stopwatch.run();
      if (!isFresh) this.attempts += 1;
      const attempt = this.attempts;
      const began = clock.monotonic();
      this.#emit(() => ({ ...this.#about, type: 'attempt', attempt, waited: began - requested }));
      // Below links and beside what axios carries, so that neither they nor retries nor errors can see the credentials.
      const request = { url, method, headers: sentHeaders(this.#call.headers, stamp()), body, isFresh };
      const answer = await sendAttempt(request, { adapter, clock, deadline: timeouts.response, stop: this.#stop });
      if (answer === 'late') this.#stop = new AbortController();
      if (answer instanceof AdapterFault && answer.kind === 'stale' && !isFresh) return 'stale';
      const took = clock.monotonic() - began;
      if (answer instanceof AdapterFault || answer === 'late') return this.#failure(this.#faultOf(answer), took);
      const { status, headers } = answer;
      this.#emit(() => ({ ...this.#about, type: 'response', attempt, status, took }));
      const reading = read(answer, clock.now());
      return reading.ok ? { status, headers, body: reading.body } : this.#failure(reading.fault, took);
    } finally {
      permit.release();
    }
  }

  #faultOf(answer: AdapterFault | 'late'): AttemptFault {
    const { timeouts, maxBodyBytes } = this.#options;
    const { route, url } = this.#call;
    if (answer === 'late') return { error: timeoutError(route, 'response', timeouts.response), retry: true };
    return faultOf(answer, route, { connect: timeouts.connect, maxBodyBytes, host: new URL(url).hostname });
  }

  /** @param took ms that the attempt took. The first one that fails is where the outage begins, so its own do not count. */
  #failure(fault: AttemptFault, took: number): AttemptFailure {
    const { retry, random, limiter } = this.#options;
    const outage = this.#outage === undefined ? 0 : this.#outage + took;
    const left = Math.max(0, retry.for - outage);
    // The last attempt falls on the end of the time that there is.
    const ownDelay = Math.min(left, backoff(this.attempts, retry, random()));
    const requested = fault.retryAfter ?? 0;
    // "0 seconds" leaves it to us: it must not become a loop without a pause.
    const delay = requested > 0 ? requested : ownDelay;
    // A service that says when to come back is at work. But one that says so for ever has to come to an end, too.
    this.#outage = outage + Math.min(delay, ownDelay);
    if (fault.pauses) {
      // What was requested for concerns all requests, whether or not this one is tried again. The attempt still holds its place here:
      // nobody slips through before the pause.
      const pause = Math.min(delay, retry.maxRetryAfter);
      limiter.pause(pause);
      this.#emit(() => ({ ...this.#about, type: 'paused', for: pause }));
    }
    return { fault, delay, left };
  }

  /** Ms to wait at most because the API asks for it. A pause is the limiter's, and no part of the total deadline. */
  #longestWait({ pauses = false }: AttemptFault): number {
    const { maxRetryAfter } = this.#options.retry;
    return pauses ? maxRetryAfter : Math.min(maxRetryAfter, this.#stopwatch.left);
  }

  get #about(): { readonly route: string; readonly request: number } {
    return { route: this.#call.route, request: this.#number };
  }

  #emit(event: () => HttpEvent): void {
    if (!this.#isSettled) this.#options.emit(event);
  }

  #fail(error: SluiceError): void {
    this.settle(() => ({ outcome: 'failed', error: reportOf(error) }));
    this.#end(error);
  }

  #end(reason: unknown): void {
    this.close();
    this.#onEnd(reason);
    this.#isOver = true;
    // Without the reason, which is the caller's: axios writes on the errors that pass through it.
    this.#stop.abort();
  }
}

function secondsOf(ms: number): string {
  return ms < 1000 ? `${String(ms)} ms` : `${String(Math.round(ms / 1000))} s`;
}
