import type { LimiterEvent } from '../http/limit/limiterReports.js';
import type { ClientEvent } from '../plugins/clientEvent.js';
import { type Failing, failing, isLongSilence, usualWait } from './failing.js';
import { countEvent, noCounts, type RunCounts } from './runCounts.js';
import { causeOf, type RunHealth, type RunPart } from './runHealth.js';
import { TargetJudge } from './targetJudge.js';

/** Limiters whose state is followed. */
const maxLimiters = 20;
/** Ms over which it is averaged how busy a part is. */
const memory = 3_000;
/** A part that was busy for less of that time does not set the pace. */
const minBusy = 0.1;
/**
 * From this share of the time on, a part sets the pace whatever else happens meanwhile: a request waits for a permit only
 * because the API could take more.
 */
const pacing: Readonly<Record<RunPart, number>> = { target: 0.5, limiter: 0.2, api: 0.5 };

/** A request between its `request` and `settled` events. */
type OpenRequest =
  { readonly is: 'queued' | 'sent'; readonly since: number } | { readonly is: 'backing off'; readonly until: number };

/** What holds the requests of a limiter up. */
interface Limiting {
  readonly pausedUntil: number;
  /** It is paused since its budget is used up. */
  readonly isBudget: boolean;
  readonly outage: Failing | undefined;
}

/** Options of {@link RunJudge}. */
export interface RunJudgeOptions {
  /** How many requests may be in progress: one that waits for another one waits for no rate. Default: any number. */
  readonly parallel?: number | undefined;
}

/**
 * Folds the events of a client into what holds its run up. It computes only: time is an argument, in ms of any clock that
 * does not jump.
 *
 * @example
 * const judge = new RunJudge();
 * client.eventsOf(...judge.events).subscribe((event) => judge.follow(event, performance.now()));
 * console.log(healthText(judge.health(performance.now())));
 */
export class RunJudge {
  /** The types of the events that it needs. */
  readonly events = judgedEvents;
  /** What the run has done, as far as the followed events tell: commits and changes are not among `events`. */
  counts: RunCounts = noCounts();
  /** Why the latest request was repeated. */
  lastRetry: string | undefined;
  readonly #parallel: number;
  readonly #target = new TargetJudge();
  readonly #open = new Map<number, OpenRequest>();
  #isStarted = false;
  #api: Failing | undefined;
  #answeredAt = -Infinity;
  /** Ms until the last response. */
  #responseTime = 0;
  readonly #limiters = new Map<string, Limiting>();
  /** The latest pause that this process caused. */
  #pause: { readonly until: number; readonly cause?: string | undefined } = { until: -Infinity };
  /** Since when requests were refused, and none was answered. */
  #refusedSince: number | undefined;
  /** The share of the last seconds in which each part had something to do. */
  readonly #busy: Record<RunPart, number> = { target: 0, limiter: 0, api: 0 };
  #limited = 0;
  #measuredAt: number | undefined;

  constructor({ parallel = Infinity }: RunJudgeOptions = {}) {
    this.#parallel = parallel;
  }

  /** Takes an event into account. `now`: ms, by a monotonic clock. */
  follow(event: ClientEvent, now: number): void {
    this.#measure(now);
    this.counts = countEvent(this.counts, event);
    switch (event.type) {
      case 'request':
        this.#open.set(event.request, { is: 'queued', since: now });
        break;
      case 'page':
        // Not every source asks through the client.
        this.#isStarted = true;
        break;
      case 'attempt':
        this.#isStarted = true;
        this.#open.set(event.request, { is: 'sent', since: now });
        break;
      case 'retry':
        this.lastRetry = causeOf(event.error);
        // A pause is not a failure.
        if (event.reason === 'rate-limited') this.#refuse(this.lastRetry, now);
        else this.#fail(event.request, now, this.lastRetry);
        this.#open.set(event.request, { is: 'backing off', until: now + event.delay });
        break;
      case 'paused':
        this.#pause = { until: now + event.for, cause: event.quota && quotaCause(event.quota.resetAt) };
        break;
      case 'settled':
        if (event.outcome === 'failed') {
          this.#fail(event.request, now, causeOf(event.error));
          if (event.error.code === 'rate-limited') this.#refuse(causeOf(event.error), now);
        }
        if (event.outcome === 'answered') this.#answer(this.#open.get(event.request), now);
        this.#open.delete(event.request);
        break;
      case 'limiter':
        this.#followLimiter(event, now);
        break;
      case 'error':
        // A poll whose rows can't be read has failed, although its requests were answered.
        if (event.of === 'walk' || event.of === 'watch') this.#api = failing(this.#api, now, causeOf(event.error));
        break;
      case 'sink':
      case 'outage':
      case 'delivery':
        this.#target.follow(event, now);
        break;
      default:
    }
  }

  /** What holds the run up: what fails or pauses comes first, from the target on back, since each waits for the one behind it. */
  health(now: number): RunHealth {
    this.#measure(now);
    return this.#target.health(now) ?? this.#requestHealth(now) ?? this.#wellHealth();
  }

  /**
   * The wall time until `now` in which a rate held the run up, in ms: at least one request waited for its permit, the API
   * had asked for no pause, and one more request could have been in progress. Waits at the same time count once.
   */
  limitedFor(now: number): number {
    this.#measure(now);
    return this.#limited;
  }

  /** It fails since the request was sent, unless another one has succeeded meanwhile. */
  #fail(request: number, now: number, cause: string): void {
    const open = this.#open.get(request);
    const sentAt = open?.is === 'sent' ? open.since : now;
    this.#api = failing(this.#api, Math.max(sentAt, this.#answeredAt), cause);
  }

  #answer(request: OpenRequest | undefined, now: number): void {
    if (request?.is === 'sent') this.#responseTime = now - request.since;
    this.#api = undefined;
    this.#answeredAt = now;
    this.#refusedSince = undefined;
  }

  #refuse(cause: string, now: number): void {
    this.#refusedSince ??= now;
    this.#pause = { until: this.#pause.until, cause: this.#pause.cause ?? cause };
  }

  #followLimiter({ apis, paused, cause, outage: away }: LimiterEvent, now: number): void {
    const name = apis.join();
    if (!this.#limiters.has(name) && this.#limiters.size >= maxLimiters) return;
    const outage = away && { since: now - away.for, cause: away.cause };
    this.#limiters.set(name, { pausedUntil: now + paused, isBudget: cause === 'budget', outage });
  }

  #requestHealth(now: number): RunHealth | undefined {
    const limiters = [...this.#limiters.values()];
    const paused = Math.max(this.#pause.until, ...limiters.map(({ pausedUntil }) => pausedUntil)) - now;
    const isBudget = limiters.some((each) => each.isBudget && each.pausedUntil - now === paused);
    const open = [...this.#open.values()];
    if (paused > 0 && open.length > 0)
      return {
        kind: 'pause',
        left: paused,
        ...(isBudget && { isBudget }),
        refusedFor: this.#refusedSince === undefined ? undefined : now - this.#refusedSince,
        cause: this.#pause.until > now ? this.#pause.cause : undefined,
      };
    const queued = open.map((each) => now - waitsSince(each)).filter((wait) => wait >= 0);
    const away = limiters.find(({ outage: each }) => each && now - each.since >= usualWait)?.outage;
    if (queued.length > 0 && away) return { kind: 'limit', since: now - away.since, cause: away.cause };
    const next = Math.min(
      ...open.flatMap((each) => (each.is === 'backing off' ? [Math.max(0, each.until - now)] : [])),
    );
    const sent = open.flatMap((each) => (each.is === 'sent' ? [now - each.since] : []));
    const isAsked = sent.length > 0 || queued.length > 0;
    const left = isAsked ? 0 : next === Infinity ? undefined : next;
    if (this.#api && (now - this.#api.since >= usualWait || (left ?? 0) >= usualWait))
      return { kind: 'retry', since: now - this.#api.since, left, cause: this.#api.cause };
    if (sent.length > 0) return this.#silence(Math.max(...sent));
    if (queued.length === 0 || queued.length < open.length) return undefined;
    const since = Math.max(...queued);
    return since < usualWait ? undefined : { kind: 'limit', since };
  }

  #silence(since: number): RunHealth | undefined {
    if (since < usualWait) return undefined;
    return { kind: 'response', since, cause: isLongSilence(since, this.#responseTime) ? 'no response' : undefined };
  }

  #wellHealth(): RunHealth {
    if (!this.#isStarted) return { kind: 'starting' };
    const [busiest = 'api'] = parts.toSorted((one, other) => this.#busy[other] - this.#busy[one]);
    const part = parts.find((each) => this.#busy[each] >= pacing[each]) ?? busiest;
    const { backlog } = this.#target;
    if (!this.#target.isBusy && this.#open.size === 0 && this.#busy[part] < minBusy) return { kind: 'idle' };
    return part === 'target' && backlog ? { kind: 'pace', part, backlog } : { kind: 'pace', part };
  }

  /** The busiest part sets the pace: all others wait for it some of the time. */
  #measure(now: number): void {
    const before = this.#measuredAt ?? now;
    const passed = now - before;
    this.#measuredAt = now;
    if (passed <= 0) return;
    const weight = Math.exp(-passed / memory);
    const isBusy = { target: this.#target.isBusy, limiter: false, api: false };
    let sent = 0;
    let waiting = Infinity;
    for (const each of this.#open.values()) {
      isBusy[each.is === 'queued' ? 'limiter' : 'api'] = true;
      if (each.is === 'sent') sent += 1;
      waiting = Math.min(waiting, waitsSince(each));
    }
    if (sent < this.#parallel) this.#limited += Math.max(0, now - Math.max(before, this.#pause.until, waiting));
    for (const part of parts) this.#busy[part] = this.#busy[part] * weight + (isBusy[part] ? 1 - weight : 0);
  }
}

/** Of parts that are equally busy, the first one sets the pace: the others wait for it. */
const parts = ['target', 'limiter', 'api'] as const;

const judgedEvents = [
  'request',
  'page',
  'attempt',
  'retry',
  'paused',
  'settled',
  'limiter',
  'error',
  'sink',
  'delivery',
  'outage',
] as const satisfies readonly ClientEvent['type'][];

/** @example quotaCause('2026-03-01T14:05:09.000Z') // 'quota used up until 14:05 UTC' */
function quotaCause(resetAt: string): string {
  return `quota used up until ${resetAt.slice(11, 16)} UTC`;
}

/** When it began to wait for a permit. */
function waitsSince(request: OpenRequest): number {
  if (request.is === 'backing off') return request.until;
  return request.is === 'queued' ? request.since : Infinity;
}
