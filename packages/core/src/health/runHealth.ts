import { isCertificateFault } from '../isTransient.js';
import type { LimiterEvent } from '../http/limit/limiterReports.js';
import type { DeliveryEvent, OutageEvent, SinkEvent } from '../source/sourceEvent.js';
import type { ClientEvent } from '../plugins/clientEvent.js';

/** A part of a run that others wait for. */
export type RunPart = 'target' | 'limiter' | 'api';

/** What holds a run up. Times are in ms; `since` is how long it has lasted. */
export type RunHealth =
  /** No request was sent yet. */
  | { readonly kind: 'starting' }
  /** Nothing is waited for, e.g. between the polls of a watch. */
  | { readonly kind: 'idle' }
  /** All is well, and this part is the slowest. `backlog`: of a target, the records that wait for their delivery. */
  | { readonly kind: 'pace'; readonly part: RunPart; readonly backlog?: Backlog | undefined }
  /** The target is busy, or no delivery to it has succeeded `since`; then `cause` says why. */
  | { readonly kind: 'target'; readonly since: number; readonly cause?: string | undefined }
  /**
   * The API allows no request for `left`. `cause` is absent if it was not this process that was refused. `refusedFor` is
   * how long it has refused all requests; absent if it has refused none.
   */
  | {
      readonly kind: 'pause';
      readonly left: number;
      readonly refusedFor?: number | undefined;
      readonly cause?: string | undefined;
    }
  /** No request has succeeded `since`; the next attempt is sent in `left`, is on its way if that is 0, or is not planned yet. */
  | { readonly kind: 'retry'; readonly since: number; readonly left?: number | undefined; readonly cause: string }
  /** All requests wait for the limiter. `cause`: why it gives no permits, if its server can't be reached. */
  | { readonly kind: 'limit'; readonly since: number; readonly cause?: string | undefined }
  /** The oldest request has had no response; `cause` is there if that is longer than usual. */
  | { readonly kind: 'response'; readonly since: number; readonly cause?: string | undefined };

/** Records that wait, and ms in which the target takes one of them, averaged over the last minute. */
export interface Backlog {
  readonly waiting: number;
  readonly each: number;
}

/**
 * - `well`: nothing fails, and nothing is waited for longer than usual.
 * - `waiting`: a part is slow, pauses, or has begun to fail.
 * - `failing`: nothing that a part was asked for has succeeded for five seconds or more, it has been silent for eight and for
 *   twice as long as the time before, or the API refuses all requests for a minute.
 */
export type RunLevel = 'well' | 'waiting' | 'failing';

/** Shorter waits come and go with each request. Ms. */
const usualWait = 1_000;
/** Ms until what fails is an outage. */
const outage = 5_000;
/** Ms without a sign of life until what may only be slow is an outage; longer, where that was usual before. */
const longSilence = 8_000;
/** Ms of refusals until what may only be a pause is an outage. */
const longPause = 60_000;
/** Calls whose times are remembered. */
const maxCalls = 20;
/** Limiters whose state is followed. */
const maxLimiters = 20;
/** Ms over which it is averaged how busy a part is. */
const memory = 3_000;
/** Ms over which it is averaged how long a delivery takes. */
const paceMemory = 60_000;
/** A part that was busy for less of that time does not set the pace. */
const minBusy = 0.1;
/**
 * From this share of the time on, a part sets the pace whatever else happens meanwhile: a request waits for a permit only
 * because the API could take more.
 */
const pacing: Readonly<Record<RunPart, number>> = { target: 0.5, limiter: 0.2, api: 0.5 };
/** One refused record may be at fault itself; this many in a row are not. */
const manyRefusals = 3;

/** A request between its `request` and `settled` events. */
type OpenRequest =
  { readonly is: 'queued' | 'sent'; readonly since: number } | { readonly is: 'backing off'; readonly until: number };

/** Nothing has succeeded since then. */
interface Failing {
  readonly since: number;
  readonly cause: string;
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
  /** Why the latest request was repeated. */
  lastRetry: string | undefined;
  readonly #parallel: number;
  readonly #open = new Map<number, OpenRequest>();
  #isStarted = false;
  #api: Failing | undefined;
  #answeredAt = -Infinity;
  #target: Failing | undefined;
  /** Since when deliveries are under way without one that was accepted. */
  #deliveringSince: number | undefined;
  /** Records that are not settled. */
  #waiting = 0;
  /** Records that were accepted, and ms in which some waited: what is older counts less. */
  #taken = { records: 0, ms: 0 };
  /** Deliveries that were refused since one was accepted. */
  #refusals = 0;
  /** Calls of the sink that have not returned, in the order in which they began: a flush stores its state. */
  readonly #calls: string[] = [];
  /** Since when there are calls, and no delivery was accepted. */
  #calledAt = 0;
  /** The longest silence, in ms, since there are calls. */
  #quiet = 0;
  /** Ms that the last one of each name was silent. */
  readonly #callTimes = new Map<string, number>();
  /** Ms until the last response. */
  #responseTime = 0;
  readonly #limiters = new Map<string, { readonly pausedUntil: number; readonly outage: Failing | undefined }>();
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
        this.#followCall(event, now);
        break;
      case 'outage':
        this.#followOutage(event, now);
        break;
      case 'delivery':
        this.#followDelivery(event, now);
        break;
      default:
    }
  }

  /** What holds the run up: what fails or pauses comes first, from the target on back, since each waits for the one behind it. */
  health(now: number): RunHealth {
    this.#measure(now);
    return this.#targetHealth(now) ?? this.#requestHealth(now) ?? this.#wellHealth();
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

  #followCall({ call, took }: SinkEvent, now: number): void {
    if (took === undefined) {
      if (this.#calls.length === 0) {
        this.#calledAt = now;
        this.#quiet = 0;
      }
      this.#calls.push(call);
      return;
    }
    const place = this.#calls.lastIndexOf(call);
    if (place >= 0) this.#calls.splice(place, 1);
    this.#endSilence(call, now);
  }

  /** Whoever was slow may be so again. */
  #endSilence(call: string, now: number): void {
    this.#quiet = Math.max(this.#quiet, now - this.#calledAt);
    if (this.#callTimes.has(call) || this.#callTimes.size < maxCalls) this.#callTimes.set(call, this.#quiet);
  }

  #followOutage({ cause, for: lasted = 0 }: OutageEvent, now: number): void {
    this.#target = cause === undefined ? undefined : { since: now - lasted, cause };
  }

  #followDelivery({ step, error, waiting, records = 1 }: DeliveryEvent, now: number): void {
    this.#waiting = waiting;
    if (step === 'sent') this.#deliveringSince ??= now;
    if (step === 'refused') this.#refusals += 1;
    const isLost = step === 'retry' || step === 'failed' || (step === 'refused' && this.#refusals >= manyRefusals);
    if (isLost && error) this.#target = failing(this.#target, this.#deliveringSince ?? now, causeOf(error));
    if (step === 'refused' && !isLost) this.#target = undefined;
    // An outage says nothing of its pace.
    if (step === 'accepted' && !this.#target) this.#countTaken(records, now);
    // The next one may be sent hours later.
    if (waiting === 0) this.#deliveringSince = undefined;
    if (step !== 'accepted') return;
    this.#target = undefined;
    const call = this.#calls.at(-1);
    if (call !== undefined) this.#endSilence(call, now);
    this.#calledAt = now;
    this.#refusals = 0;
    this.#deliveringSince = waiting > 0 ? now : undefined;
  }

  #countTaken(records: number, now: number): void {
    const took = now - (this.#deliveringSince ?? now);
    const weight = Math.exp(-took / paceMemory);
    this.#taken = { records: this.#taken.records * weight + records, ms: this.#taken.ms * weight + took };
  }

  /** What waits for the target, if it takes longer than usual to take it. */
  get #backlog(): Backlog | undefined {
    const each = this.#taken.records > 0 ? this.#taken.ms / this.#taken.records : 0;
    return this.#waiting * each >= usualWait ? { waiting: this.#waiting, each } : undefined;
  }

  #followLimiter({ apis, paused, outage: away }: LimiterEvent, now: number): void {
    const name = apis.join();
    if (!this.#limiters.has(name) && this.#limiters.size >= maxLimiters) return;
    const outage = away && { since: now - away.for, cause: away.cause };
    this.#limiters.set(name, { pausedUntil: now + paused, outage });
  }

  #targetHealth(now: number): RunHealth | undefined {
    if (this.#target && now - this.#target.since >= usualWait)
      return { kind: 'target', since: now - this.#target.since, cause: this.#target.cause };
    const since = now - this.#calledAt;
    const call = this.#calls.at(-1);
    if (call !== undefined && since >= usualWait) {
      const isSilent = isLongSilence(since, this.#callTimes.get(call));
      return { kind: 'target', since, cause: isSilent ? `${call} has not ended` : undefined };
    }
    // Polls go on meanwhile. A target that is slow sets the pace; one that takes nothing for much longer hangs.
    const delivering = now - (this.#deliveringSince ?? now);
    const each = this.#backlog?.each;
    if (delivering < Math.max(usualWait, 3 * (each ?? 0))) return undefined;
    return { kind: 'target', since: delivering, cause: isLongSilence(delivering, each) ? 'no response' : undefined };
  }

  #requestHealth(now: number): RunHealth | undefined {
    const limiters = [...this.#limiters.values()];
    const paused = Math.max(this.#pause.until, ...limiters.map(({ pausedUntil }) => pausedUntil)) - now;
    const open = [...this.#open.values()];
    if (paused > 0 && open.length > 0)
      return {
        kind: 'pause',
        left: paused,
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
    const backlog = this.#backlog;
    const isWaiting = this.#calls.length > 0 || this.#open.size > 0 || backlog;
    if (!isWaiting && this.#busy[part] < minBusy) return { kind: 'idle' };
    return part === 'target' && backlog ? { kind: 'pace', part, backlog } : { kind: 'pace', part };
  }

  /** The busiest part sets the pace: all others wait for it some of the time. */
  #measure(now: number): void {
    const before = this.#measuredAt ?? now;
    const passed = now - before;
    this.#measuredAt = now;
    if (passed <= 0) return;
    const weight = Math.exp(-passed / memory);
    const isBusy = { target: this.#calls.length > 0 || this.#backlog !== undefined, limiter: false, api: false };
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

/** How serious it is. */
export function healthLevel(health: RunHealth): RunLevel {
  switch (health.kind) {
    case 'starting':
    case 'idle':
    case 'pace':
      return 'well';
    case 'pause': {
      const { refusedFor = 0, left } = health;
      return refusedFor >= outage && refusedFor + left >= longPause ? 'failing' : 'waiting';
    }
    case 'response':
    case 'retry':
    case 'target':
    case 'limit':
      return health.cause !== undefined && health.since >= outage ? 'failing' : 'waiting';
  }
}

/**
 * What holds the run up, in one sentence.
 *
 * @param target the target, with an article. Default `the target`.
 * @param rows what waits for it. Default `rows`.
 * @example healthText({ kind: 'target', since: 12_000, cause: 'HTTP 502' }, 'the webhook')
 * // 'The webhook has taken nothing for 12 s (HTTP 502).'
 */
export function healthText(health: RunHealth, target = 'the target', rows = 'rows'): string {
  const cause = 'cause' in health && health.cause !== undefined ? ` (${health.cause})` : '';
  switch (health.kind) {
    case 'starting':
      return 'No request was sent yet.';
    case 'idle':
      return 'Nothing is waited for.';
    case 'pace':
      return `${inCapitals({ api: 'the API', limiter: 'the rate limit', target }[health.part])} sets the pace${backlogText(health.backlog, rows)}.`;
    case 'target':
      return `${inCapitals(target)} has taken nothing for ${inUnits(health.since)}${cause}.`;
    case 'pause':
      return `The API allows no request for another ${inUnits(health.left)}${cause}.`;
    case 'retry':
      return `The API has failed for ${inUnits(health.since)}${cause}${nextText(health.left)}.`;
    case 'limit':
      return `All requests have waited for the rate limit for ${inUnits(health.since)}${cause}.`;
    case 'response':
      return `The API has not responded for ${inUnits(health.since)}.`;
  }
}

/** @example backlogText({ waiting: 52, each: 2_480 }, 'changes') // ': 52 changes wait, 2.5 s each' */
function backlogText(backlog: Backlog | undefined, rows: string): string {
  if (!backlog) return '';
  const { waiting, each } = backlog;
  const what = waiting === 1 ? `1 ${rows.replace(/s$/, '')} waits` : `${waiting.toLocaleString('en')} ${rows} wait`;
  const time = each < 1_000 ? `${Number(each.toPrecision(2))} ms` : `${(each / 1_000).toFixed(1)} s`;
  return `: ${what}, ${each < 59_950 ? time : inUnits(each)} each`;
}

function nextText(left: number | undefined): string {
  if (left === undefined) return '';
  return left === 0 ? '; it is being tried again' : `; the next attempt is in ${inUnits(left)}`;
}

/** An error, or the report of one. */
interface Failed {
  readonly code?: string;
  readonly details?: Readonly<Record<string, unknown>>;
}

/** Why an attempt failed, in a few words. @example causeOf({ code: 'http', details: { status: 503 } }) // 'HTTP 503' */
export function causeOf({ code = 'error', details = {} }: Failed): string {
  const { status, platformCode } = details;
  if (code === 'decode') return 'unreadable response';
  if (typeof status === 'number') return `HTTP ${String(status)}`;
  if (code === 'network') {
    const cause = networkCauses[String(platformCode)];
    return cause ?? (isCertificateFault(String(platformCode)) ? 'certificate not trusted' : 'no connection');
  }
  return code === 'timeout' ? 'no response in time' : code.replaceAll('-', ' ');
}

const networkCauses: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'certificate expired',
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  EPIPE: 'connection lost',
  ENOTFOUND: 'unknown host',
  EAI_AGAIN: 'unknown host',
  ETIMEDOUT: 'connection timed out',
};

/** @example quotaCause('2026-03-01T14:05:09.000Z') // 'quota used up until 14:05 UTC' */
function quotaCause(resetAt: string): string {
  return `quota used up until ${resetAt.slice(11, 16)} UTC`;
}

function failing(before: Failing | undefined, now: number, cause: string): Failing {
  return { since: before?.since ?? now, cause };
}

/** When it began to wait for a permit. */
function waitsSince(request: OpenRequest): number {
  if (request.is === 'backing off') return request.until;
  return request.is === 'queued' ? request.since : Infinity;
}

/** @param before how long it was silent the time before */
function isLongSilence(since: number, before = 0): boolean {
  return since >= Math.max(longSilence, 2 * before);
}

function inCapitals(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** @example inUnits(75_000) // '1 min 15 s' */
function inUnits(ms: number): string {
  const seconds = Math.max(1, Math.round(ms / 1_000));
  const minutes = Math.floor(seconds / 60);
  if (minutes === 0) return `${seconds} s`;
  return minutes < 60 ? `${minutes} min ${seconds % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
