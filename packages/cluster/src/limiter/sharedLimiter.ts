import { ConfigError, SluiceError, type Clock, type LimiterState } from '@sluice/core';
import {
  costsOf,
  newPermit,
  rateUse,
  WaitQueue,
  type AcquireOptions,
  type Limiter,
  type Permit,
  type Waiter,
} from '@sluice/core/kit';
import { decodeLimits, describeLimits, type BookWindow } from './decodeLimits.js';
import {
  maxRoundTrip,
  type LimiterBookAccess,
  type LimiterCall,
  type LimiterReply,
  type UsedPermit,
} from './limiterCall.js';
import { LimiterUnavailableError } from './limiterUnavailableError.js';
import { isSteady, type TimedReply } from './serverClock.js';

export interface SharedLimiterOptions {
  readonly name: string;
  /** Text of `encodeLimits`; empty: those of the book. */
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

interface TimedRequest extends AcquireOptions {
  readonly since: number;
}

/** The limits by which the book goes. */
interface LimitsInForce {
  /** Of `encodeLimits`. */
  readonly text: string;
  readonly windows: readonly BookWindow[];
}

/** The next call, unless another reason comes first. */
interface Timer {
  readonly at: number;
  readonly cancel: () => void;
}

/** A permit of a reply, and what became of it. */
interface Grant extends UsedPermit {
  late: number;
  took: number;
  isCounted: boolean;
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
/** Ms after a permit is due: a call that comes too early is in vain. */
const margin = 1;
/** Ms until starts are reported at the latest. */
const longestReport = 500;
const noTimer: Timer = { at: Infinity, cancel: () => undefined };

/**
 * A limiter whose book other processes share. It asks for the permits of its requests when they are due, starts them at
 * once, and reports with the next call when that was.
 */
export class SharedLimiter implements Limiter {
  readonly name: string;
  readonly #options: SharedLimiterOptions;
  readonly #queue = new WaitQueue<Permit, TimedRequest>(() => this.#tellNeed());
  #running = 0;
  #inForce: LimitsInForce;
  /** Permits whose start, or response, is to be reported, and until when. */
  readonly #unreported = new Set<Grant>();
  #reportUntil = Infinity;
  /** `waiting`: the last reply has told when to call again. */
  #turn: 'idle' | 'calling' | 'waiting' = 'idle';
  #timer: Timer = noTimer;
  #pausedUntil = -Infinity;
  /** When a pause ends that the book does not know yet. */
  #newPause: number | undefined;
  /** `isSteady`: the book's clock was not set since the one before. */
  #last: (TimedReply & { readonly isSteady: boolean }) | undefined;
  /** Set while the book can't be reached. */
  #awaySince: number | undefined;
  #lateReplies = 0;
  #isClosed = false;

  constructor(options: SharedLimiterOptions) {
    this.#options = options;
    this.name = options.name;
    this.#inForce = decodeInForce(options.limits);
  }

  get state(): LimiterState {
    const now = this.#now;
    const { reply, received = -Infinity } = this.#last ?? {};
    const used = this.#inForce.windows.map(({ span }, w) =>
      now - received > span / 1_000 ? 0 : (reply?.used[w] ?? 0),
    );
    const rate = rateUse(this.#inForce.windows, used);
    return {
      queued: this.#queue.size + (reply?.queued ?? 0),
      running: this.#running + (reply?.running ?? 0),
      pausedFor: Math.max(0, this.#pausedUntil - now),
      ...(rate && { rate }),
      ...(this.#awaySince !== undefined && { outage: { cause: 'no connection to Redis', for: now - this.#awaySince } }),
    };
  }

  pause(ms: number): void {
    const until = this.#now + Math.min(ms, this.#options.maxPause);
    if (until <= this.#pausedUntil) return;
    this.#pausedUntil = until;
    this.#newPause = until;
    this.#callSoon();
  }

  async acquire(options: AcquireOptions): Promise<Permit> {
    options.signal?.throwIfAborted();
    costsOf(this.#inForce.windows, options.route);
    this.#isClosed = false;
    const permit = this.#queue.wait({ ...options, since: this.#now });
    this.#tellNeed();
    if (this.#turn !== 'waiting') this.#callSoon();
    return permit;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#clearTimer();
    this.#refuseAll(new LimiterUnavailableError(this.name, `The limiter ${this.name} was closed.`));
    // What was used should count from its start, and the ticket be free for others.
    if (this.#last && this.#awaySince === undefined) await this.#call();
    this.#options.access.close();
  }

  get #now(): number {
    return this.#options.clock.monotonic();
  }

  /** Calls in this turn of the event loop, once for all that ask now. */
  #callSoon(): void {
    queueMicrotask(() => {
      if (this.#turn !== 'calling' && !this.#isClosed) void this.#call();
    });
  }

  #clearTimer(): void {
    this.#timer.cancel();
    this.#timer = noTimer;
  }

  #callIn(ms: number): void {
    this.#clearTimer();
    // A reply may come after `close`, and a timer would keep the process alive.
    if (this.#isClosed || ms === Infinity) return;
    this.#timer = { at: this.#now + ms, cancel: this.#options.clock.after(ms, () => this.#callSoon()) };
  }

  /** Those that may start now, as far as this process is concerned. */
  #next(): Waiter<Permit, TimedRequest>[] {
    const free = Math.min(maxBatch, this.#options.concurrency - this.#running);
    return this.#isClosed ? [] : this.#queue.all.slice(0, Math.max(0, free));
  }

  async #call(): Promise<void> {
    const { worker, limits, defaultLimits = '' } = this.#options;
    this.#turn = 'calling';
    this.#clearTimer();
    const last = this.#last;
    const sent = this.#now;
    const wants = this.#next().map(({ request }) => costsOf(this.#inForce.windows, request.route));
    const pause = this.#newPause;
    const reported = [...this.#unreported];
    const used = reported.map((grant): UsedPermit => ({ ...grant }));
    this.#unreported.clear();
    this.#reportUntil = Infinity;
    let hasTicket = false;
    try {
      const reply = await this.#replyTo({
        worker,
        declared: limits,
        // Whoever was given no limits opens a book that was lost with those that it had.
        fallback: limits === '' ? this.#inForce.text || defaultLimits : '',
        known: this.#inForce.text,
        replace: '',
        wants,
        running: this.#running,
        used,
        steppedSince: last && !last.isSteady ? last.reply.openedAt : 0,
        pause: pause === undefined ? 0 : Math.max(0, Math.round(1_000 * (pause - sent))),
      });
      if (this.#newPause === pause) this.#newPause = undefined;
      this.#awaySince = undefined;
      for (const grant of reported) grant.isCounted = true;
      hasTicket = this.#agrees(reply) && this.#obey({ reply, sent, received: this.#now }, wants);
    } catch (error) {
      // The book may have counted them or not, so their responses must not move them.
      for (const grant of reported) {
        grant.late = -1;
        this.#unreported.delete(grant);
      }
      this.#survive(error, sent);
    } finally {
      this.#turn = hasTicket ? 'waiting' : 'idle';
      this.#tellNeed();
    }
  }

  /** A late reply is dropped: what it grants counts as used. */
  #replyTo(call: LimiterCall): Promise<LimiterReply> {
    const { access, clock, waitForBook } = this.#options;
    return new Promise((resolve, reject) => {
      const longest = Math.min(longestCall, waitForBook);
      const cancel = clock.after(longest, () => reject(new Error(`There was no reply within ${longest} ms.`)));
      access.call(call).then(resolve, reject).finally(cancel);
    });
  }

  /** Whether the book goes by limits of this process. If not, all who wait are refused. */
  #agrees({ status, inForce }: LimiterReply): boolean {
    if (status === 'none' || status === 'other') {
      this.#refuseAll(otherLimits(this.name, this.#options.limits, inForce));
      return false;
    }
    if (inForce === this.#inForce.text) return true;
    this.#inForce = decodeInForce(inForce);
    for (const waiter of this.#queue.all)
      try {
        costsOf(this.#inForce.windows, waiter.request.route);
      } catch (error) {
        waiter.refuse(error);
      }
    return true;
  }

  /** Starts the requests that were granted, and plans the next call. @returns whether the reply told when */
  #obey(timed: TimedReply, wants: LimiterCall['wants']): boolean {
    const { reply, sent, received } = timed;
    const wasSteady = isSteady(this.#last, timed);
    this.#last = { ...timed, isSteady: wasSteady };
    if (reply.pausedFor > 0) this.#pausedUntil = Math.max(this.#pausedUntil, received + reply.pausedFor / 1_000);
    const roundTrip = received - sent;
    const isLate = roundTrip > maxRoundTrip / 1_000;
    const isUsable = wasSteady && !isLate && received >= this.#pausedUntil && !this.#isClosed;
    wants.slice(0, reply.granted).forEach((costs, nth) => {
      const grant = { at: reply.time, nth, costs, late: -1, took: -1, isCounted: false };
      const waiter = isUsable ? this.#queue.all.find((each) => this.#hasCosts(each, costs)) : undefined;
      if (waiter) this.#begin(waiter, grant, sent);
      else this.#report(grant);
    });
    if (reply.granted > 0) this.#lateReplies = isLate ? this.#lateReplies + 1 : 0;
    if (this.#lateReplies >= maxLate) {
      this.#lateReplies = 0;
      this.#refuseAll(tooFar(this.name, roundTrip));
    }
    const hasTicket = reply.due >= 0 && !this.#isClosed;
    const isWasted = reply.status === 'learn' || !wasSteady || (reply.granted > 0 && !isUsable);
    const mayStart = !hasTicket && this.#next().length > 0;
    if (isWasted || mayStart || this.#newPause !== undefined) {
      this.#callSoon();
      return hasTicket;
    }
    const untilDue = hasTicket ? Math.max(0, reply.due / 1_000 - roundTrip / 2) + margin : Infinity;
    this.#callIn(Math.min(untilDue, Math.max(0, this.#reportUntil - this.#now)));
    return hasTicket;
  }

  /** Whether a permit of these costs serves a request: the one that it was asked for, or one like it if that has left. */
  #hasCosts({ request }: Waiter<Permit, TimedRequest>, costs: readonly number[]): boolean {
    return String(costsOf(this.#inForce.windows, request.route)) === String(costs);
  }

  #begin(waiter: Waiter<Permit, TimedRequest>, grant: Grant, sent: number): void {
    const age = (): number => Math.ceil(1_000 * (this.#now - sent));
    this.#running += 1;
    const permit = newPermit({
      // By then the book takes it for used, and it might be written when that is forgotten.
      mayStart: () => age() <= maxRoundTrip && this.#now >= this.#pausedUntil,
      onStart: (isWritten) => {
        if (isWritten) grant.late = age();
        this.#report(grant);
      },
      onResponse: () => {
        if (grant.late < 0 || grant.took >= 0) return;
        grant.took = age() - grant.late;
        this.#report(grant);
      },
      onRelease: () => {
        this.#running -= 1;
        // Somebody may wait for this one's place.
        if (this.#queue.size > 0 && this.#turn !== 'waiting') this.#callSoon();
      },
    });
    waiter.admit(permit);
  }

  /** Reports it with the next call, or with one of its own: in time, before it would count longer than it does. */
  #report(grant: Grant): void {
    const left = Math.min(...this.#inForce.windows.map(({ span }) => (span - Math.max(0, grant.took)) / 2_000));
    const until = this.#now + Math.min(longestReport, left > 0 ? left : longestReport);
    this.#unreported.add(grant);
    this.#reportUntil = Math.min(this.#reportUntil, until);
    if (this.#turn !== 'calling' && until < this.#timer.at) this.#callIn(until - this.#now);
  }

  /** Tries again, for a while. */
  #survive(error: unknown, sent: number): void {
    if (SluiceError.is(error, 'config')) {
      this.#refuseAll(error);
      return;
    }
    const { waitForBook } = this.#options;
    const now = this.#now;
    // A call takes no longer than that, unless the process was stopped: then the book may well be there.
    const since = (this.#awaySince ??= Math.max(sent, now - longestCall));
    for (const waiter of this.#queue.all)
      if (now - Math.max(waiter.request.since, since) >= waitForBook)
        waiter.refuse(unreachable(this.name, waitForBook, error));
    if (this.#queue.size > 0 || this.#newPause !== undefined)
      this.#callIn(Math.min(longestRetry, Math.max(firstRetry, now - since)));
  }

  #refuseAll(error: unknown): void {
    for (const waiter of this.#queue.all) waiter.refuse(error);
    this.#tellNeed();
  }

  #tellNeed(): void {
    this.#options.access.isNeeded(this.#queue.size > 0);
  }
}

function decodeInForce(text: string): LimitsInForce {
  return { text, windows: decodeLimits(text) };
}

export function otherLimits(name: string, given: string, inForce: string): ConfigError {
  if (inForce === '')
    return new ConfigError(`The limiter "${name}" has no limits yet, and this process was given none: give limits.`);
  return new ConfigError(
    `The limiter "${name}" has other limits than this process: ${describeLimits(inForce)}, not ${describeLimits(given)}. Give the same limits, or none, or choose another name; an operator can change those of a name for all.`,
    { limiter: name },
  );
}

function tooFar(name: string, ms: number): LimiterUnavailableError {
  return new LimiterUnavailableError(
    name,
    `The limiter "${name}" is too far away: ${maxLate} permits in a row came more than ${maxRoundTrip / 1_000} ms after they were asked for, the last one ${Math.round(ms)} ms. Use a Redis that is closer, or a process that is less busy.`,
  );
}

function unreachable(name: string, ms: number, error: unknown): LimiterUnavailableError {
  return new LimiterUnavailableError(
    name,
    `The limiter "${name}" could not be reached for ${ms / 1_000} s, so no request may start. ${error instanceof Error ? error.message : ''} Then go on where the walk stopped.`,
    error,
  );
}
