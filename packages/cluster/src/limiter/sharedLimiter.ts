import {
  ConfigError,
  SluiceError,
  type AcquireOptions,
  type Clock,
  type Limiter,
  type LimiterState,
  type Permit,
} from '@sluice/core';
import { decodeLimits, limitsInWords, rateUse, type BookLimits } from './decodeLimits.js';
import {
  maxRoundTrip,
  type LimiterBookAccess,
  type LimiterCall,
  type LimiterReply,
  type UsedPermit,
} from './limiterCall.js';
import { LimiterUnavailableError } from './limiterUnavailableError.js';
import { ServerClock } from './serverClock.js';

export interface SharedLimiterOptions {
  readonly name: string;
  /** Text of `limitsText`; empty: those of the book. */
  readonly limits: string;
  /** Those of a book that has none, if `limits` is empty. Default: nothing starts then. */
  readonly defaultLimits?: string;
  /** Requests of this process in parallel. */
  readonly concurrency: number;
  readonly clock: Clock;
  /** Tells this process apart from the others. */
  readonly worker: string;
  readonly access: LimiterBookAccess;
  /** Ms that requests wait while the book can't be reached. */
  readonly waitForBook: number;
  /** Longest pause in ms. */
  readonly maxPause: number;
}

interface Waiter {
  readonly route: string;
  readonly since: number;
  begin(permit: Permit): void;
  refuse(error: unknown): void;
}

/** Requests that one call asks for at most. */
const maxBatch = 16;
/** So many permits in a row that came too late are a fault of the connection. */
const maxLate = 10;
/** Ms without a reply after which a call is taken for lost. */
const longestCall = 5_000;
/** Ms between calls while the book can't be reached, at first and at most. */
const firstRetry = 50;
const longestRetry = 1_000;
/** Ms after a permit is due: a call that comes too early is in vain. With less, a hundred processes call a quarter more often. */
const margin = 3;
/** Ms until starts are reported at the latest. */
const longestReport = 500;

/**
 * A limiter whose book other processes share. It asks for the permits of its requests when they are due, starts them at
 * once, and reports with the next call when that was.
 */
export class SharedLimiter implements Limiter {
  readonly name: string;
  readonly #options: SharedLimiterOptions;
  readonly #clock: Clock;
  readonly #serverClock: ServerClock;
  /** In order of `acquire`. */
  readonly #waiting = new Set<Waiter>();
  #known: string;
  /** The limits that a book gets that has none, e.g. since Redis has lost its data: those that it had. */
  #defaults: string;
  /** What the next call declares. */
  #declared: string;
  #limits: BookLimits;
  #used: UsedPermit[] = [];
  #running = 0;
  #isCalling = false;
  /** The book has told when to call again. */
  #hasTicket = false;
  #cancelTimer = (): void => undefined;
  /** When the timer calls. */
  #nextCall = Infinity;
  #pausedUntil = -Infinity;
  /** The pause that the book does not know yet, in ms from when. */
  #newPause: { readonly until: number } | undefined;
  #others = { queued: 0, running: 0 };
  /** By window, as of the last reply. */
  #inUse: readonly number[] = [];
  #lastReply = -Infinity;
  #failures = 0;
  #failingSince: number | undefined;
  #lateReplies = 0;
  #isClosed = false;

  constructor(options: SharedLimiterOptions) {
    this.#options = options;
    this.name = options.name;
    this.#clock = options.clock;
    this.#serverClock = new ServerClock();
    this.#known = this.#declared = options.limits;
    this.#defaults = options.defaultLimits ?? '';
    this.#limits = options.limits === '' ? { windows: [], costs: [] } : decodeLimits(options.limits);
  }

  get state(): LimiterState {
    const now = this.#clock.monotonic();
    const rate = rateUse(this.#limits, this.#inUse);
    const isOld = rate !== undefined && now - this.#lastReply > rate.per;
    return {
      queued: this.#waiting.size + this.#others.queued,
      running: this.#running + this.#others.running,
      pausedFor: Math.max(0, this.#pausedUntil - now),
      ...(rate && { rate: isOld ? { ...rate, used: 0 } : rate }),
    };
  }

  pause(ms: number): void {
    const until = this.#clock.monotonic() + Math.min(ms, this.#options.maxPause);
    if (until <= this.#pausedUntil) return;
    this.#pausedUntil = until;
    this.#newPause = { until };
    this.#callSoon();
  }

  acquire({ route, signal }: AcquireOptions): Promise<Permit> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      this.#checkCosts(route);
      const leave = (): void => {
        this.#waiting.delete(waiter);
        signal?.removeEventListener('abort', onAbort);
        this.#tellNeed();
      };
      const onAbort = (): void => {
        leave();
        reject(signal?.reason);
      };
      const waiter: Waiter = {
        route,
        since: this.#clock.monotonic(),
        begin(permit) {
          leave();
          resolve(permit);
        },
        refuse(error) {
          leave();
          reject(error);
        },
      };
      this.#isClosed = false;
      this.#waiting.add(waiter);
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#tellNeed();
      if (!this.#hasTicket) this.#callSoon();
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#clearTimer();
    this.#hasTicket = false;
    this.#refuseAll(new LimiterUnavailableError(this.#options.name, `The limiter ${this.#options.name} was closed.`));
    // What was used should count from its start, and the ticket be free for others.
    if (this.#lastReply > -Infinity && this.#failures === 0) await this.#call();
    await this.#options.access.close();
  }

  /** Calls in this turn of the event loop, once for all that ask now. */
  #callSoon(): void {
    queueMicrotask(() => {
      if (!this.#isCalling && !this.#isClosed) void this.#call();
    });
  }

  #clearTimer(): void {
    this.#cancelTimer();
    this.#nextCall = Infinity;
  }

  #callIn(ms: number): void {
    this.#clearTimer();
    // A reply may come after `close`, and a timer would keep the process alive.
    if (this.#isClosed) return;
    this.#nextCall = this.#clock.monotonic() + ms;
    this.#cancelTimer = this.#clock.after(ms, () => this.#callSoon());
  }

  /** Those that may start now, as far as this process is concerned. */
  #next(): Waiter[] {
    const free = Math.min(maxBatch, this.#options.concurrency - this.#running);
    return this.#isClosed ? [] : [...this.#waiting].slice(0, Math.max(0, free));
  }

  async #call(): Promise<void> {
    this.#isCalling = true;
    this.#clearTimer();
    const asking = this.#next();
    const used = this.#used;
    this.#used = [];
    const sent = this.#clock.monotonic();
    const pause = this.#newPause;
    try {
      const call: LimiterCall = {
        worker: this.#options.worker,
        declared: this.#declared,
        known: this.#known,
        replace: '',
        wants: asking.map(({ route }) => this.#costsOf(route)),
        running: this.#running,
        used,
        steppedSince: this.#serverClock.steppedSince,
        pause: pause ? Math.max(0, Math.round(1_000 * (pause.until - sent))) : 0,
      };
      const reply = await this.#answerOf(call);
      if (this.#newPause === pause) this.#newPause = undefined;
      this.#failures = 0;
      this.#failingSince = undefined;
      this.#lastReply = this.#clock.monotonic();
      this.#obey(reply, asking, sent);
    } catch (error) {
      this.#survive(error, sent);
    } finally {
      this.#isCalling = false;
    }
  }

  /** A late reply is dropped: what it grants counts as used. */
  #answerOf(call: LimiterCall): Promise<LimiterReply> {
    return new Promise((resolve, reject) => {
      const longest = Math.min(longestCall, this.#options.waitForBook);
      const cancel = this.#clock.after(longest, () => reject(new Error(`There was no reply within ${longest} ms.`)));
      this.#options.access.call(call).then(resolve, reject).finally(cancel);
    });
  }

  #obey(reply: LimiterReply, asking: readonly Waiter[], sent: number): void {
    const { limits } = this.#options;
    // Whoever was given no limits takes those of the book, and opens a new one if that is lost.
    if (limits === '' && reply.status === 'none' && this.#defaults !== '') {
      this.#declared = this.#defaults;
      this.#callSoon();
      return;
    }
    if (limits === '' && reply.status === 'other') {
      this.#declared = '';
      this.#callSoon();
      return;
    }
    this.#declared = limits;
    if (reply.status === 'none' || reply.status === 'other') {
      this.#refuseAll(otherLimits(this.#options.name, this.#options.limits, reply.inForce));
      return;
    }
    if (reply.inForce !== this.#known) {
      this.#known = this.#defaults = reply.inForce;
      this.#limits = decodeLimits(reply.inForce);
      for (const waiter of this.#waiting)
        try {
          this.#checkCosts(waiter.route);
        } catch (error) {
          waiter.refuse(error);
        }
    }
    const now = this.#clock.monotonic();
    this.#others = { queued: reply.queued, running: reply.running };
    this.#inUse = reply.used;
    this.#pausedUntil = Math.max(this.#pausedUntil, reply.pausedFor > 0 ? now + reply.pausedFor / 1_000 : -Infinity);
    const isSteady = this.#serverClock.read(reply, { sent, received: now });
    const isLate = now - sent > maxRoundTrip / 1_000;
    const isUsable = isSteady && !isLate && now >= this.#pausedUntil && !this.#isClosed;
    for (let nth = 0; nth < reply.granted; nth += 1) this.#use(reply.time, nth, asking, isUsable ? now - sent : -1);
    if (reply.granted > 0) this.#lateReplies = isLate ? this.#lateReplies + 1 : 0;
    if (this.#lateReplies >= maxLate) {
      this.#lateReplies = 0;
      this.#refuseAll(tooFar(this.#options.name, now - sent));
    }
    this.#plan(reply, { isUsable, isSteady, roundTrip: now - sent });
  }

  /** Starts the request that a permit is for, or one like it; gives the permit back if there is none. */
  #use(at: number, nth: number, asking: readonly Waiter[], late: number): void {
    const costs = this.#costsOf(asking[nth]?.route ?? '');
    const isAlike = ({ route }: Waiter): boolean => this.#costsOf(route).join() === costs.join();
    const asked = asking[nth];
    const waiter = asked && this.#waiting.has(asked) ? asked : [...this.#waiting].find(isAlike);
    const grant = { at, nth, costs };
    if (late < 0 || !waiter) {
      this.#used.push({ ...grant, late: -1 });
      return;
    }
    this.#running += 1;
    const sent = this.#clock.monotonic() - late;
    const age = (): number => Math.ceil(1_000 * (this.#clock.monotonic() - sent));
    let isReported = false;
    let isReleased = false;
    const report = (late: number): void => {
      if (isReported) return;
      isReported = true;
      this.#used.push({ ...grant, late });
      const within = this.#reportWithin();
      if (!this.#isCalling && this.#clock.monotonic() + within < this.#nextCall) this.#callIn(within);
    };
    waiter.begin({
      started: () => {
        // By then the book takes it for used, and it might be written when that is forgotten.
        if (age() > maxRoundTrip || this.#clock.monotonic() < this.#pausedUntil) return false;
        report(age());
        return true;
      },
      release: (use) => {
        if (isReleased) return;
        isReleased = true;
        this.#running -= 1;
        report(use === 'unwritten' ? -1 : age());
        // Somebody may wait for this one's place.
        if (this.#waiting.size > 0 && !this.#hasTicket) this.#callSoon();
      },
    });
  }

  /** When to call next. */
  #plan(reply: LimiterReply, { isUsable, isSteady, roundTrip }: Plan): void {
    const hasNewPause = this.#newPause !== undefined;
    this.#hasTicket = reply.due >= 0 && !this.#isClosed;
    const untilDue = this.#hasTicket ? Math.max(0, reply.due / 1_000 - roundTrip / 2) + margin : Infinity;
    const untilReport = this.#used.length > 0 ? this.#reportWithin() : Infinity;
    const mayStart = !this.#hasTicket && this.#next().length > 0;
    if (hasNewPause || reply.status === 'learn' || !isSteady || (reply.granted > 0 && !isUsable) || mayStart)
      this.#callSoon();
    else if (Math.min(untilDue, untilReport) < Infinity) this.#callIn(Math.min(untilDue, untilReport));
  }

  /** Ms until starts are reported with a call of their own: in time, before they would count longer than they do. */
  #reportWithin(): number {
    return Math.min(longestReport, ...this.#limits.windows.map(({ span }) => span / 2_000));
  }

  /** Tries again, for a while. */
  #survive(error: unknown, sent: number): void {
    if (SluiceError.is(error, 'config')) {
      this.#refuseAll(error);
      return;
    }
    this.#failures += 1;
    this.#hasTicket = false;
    const { name, waitForBook } = this.#options;
    const now = this.#clock.monotonic();
    // A call takes no longer than that, unless the process was stopped: then the book may well be there.
    this.#failingSince ??= Math.max(sent, now - longestCall);
    for (const waiter of this.#waiting)
      if (now - Math.max(waiter.since, this.#failingSince) >= waitForBook)
        waiter.refuse(
          new LimiterUnavailableError(
            name,
            `The limiter "${name}" could not be reached for ${waitForBook / 1_000} s, so no request may start. ${error instanceof Error ? error.message : ''} Then go on where the walk stopped.`,
            error,
          ),
        );
    if (this.#waiting.size > 0 || this.#newPause)
      this.#callIn(Math.min(longestRetry, firstRetry * 2 ** Math.min(this.#failures - 1, 10)));
  }

  #refuseAll(error: unknown): void {
    for (const waiter of this.#waiting) waiter.refuse(error);
  }

  #tellNeed(): void {
    this.#options.access.isNeeded(this.#waiting.size > 0);
  }

  #costsOf(route: string): number[] {
    return this.#limits.windows.map((_, w) => costOf(this.#limits, w, route));
  }

  /** @throws ConfigError if a request could never start. */
  #checkCosts(route: string): void {
    const tooLarge = this.#limits.windows.find(({ max }, w) => costOf(this.#limits, w, route) > max);
    if (!tooLarge) return;
    throw new ConfigError(
      `A request of ${route} costs more than the limiter "${this.#options.name}" ever lets start at once (${tooLarge.max}): raise the limit's requests or burst, or lower the route's cost.`,
      { route, max: tooLarge.max },
    );
  }
}

function costOf({ costs }: BookLimits, w: number, route: string): number {
  const ofRoutes = costs[w] ?? {};
  return (Object.hasOwn(ofRoutes, route) ? ofRoutes[route] : undefined) ?? 1;
}

export function otherLimits(name: string, given: string, inForce: string): ConfigError {
  if (inForce === '')
    return new ConfigError(`The limiter "${name}" has no limits yet, and this process was given none: give limits.`);
  return new ConfigError(
    `The limiter "${name}" has other limits than this process: ${limitsInWords(inForce)}, not ${limitsInWords(given)}. Give the same limits, or none, or choose another name; an operator can change those of a name for all.`,
    { limiter: name },
  );
}

function tooFar(name: string, ms: number): LimiterUnavailableError {
  return new LimiterUnavailableError(
    name,
    `The limiter "${name}" is too far away: ${maxLate} permits in a row came more than ${maxRoundTrip / 1_000} ms after they were asked for, the last one ${Math.round(ms)} ms. Use a Redis that is closer, or a process that is less busy.`,
  );
}

interface Plan {
  readonly isUsable: boolean;
  readonly isSteady: boolean;
  readonly roundTrip: number;
}
