import type { Client, Clock, ErrorReport, EventOf } from '@sluice/core';
import { formatDuration } from '../terminal/format.js';

/** What a run waits for. Times are in ms. */
export type Wait =
  /** A signal arrived: it commits what it has fetched. */
  | { readonly kind: 'stopping' }
  /** The API allows no request for `left`. `cause` is absent if it was not this process that was refused. */
  | { readonly kind: 'pause'; readonly left: number; readonly cause?: string }
  /** All its requests failed, and the first is sent again in `left`. */
  | { readonly kind: 'retry'; readonly left: number; readonly cause: string }
  /** All its requests have waited `since` for the limiter. */
  | { readonly kind: 'limit'; readonly since: number }
  /** The oldest request has had no response `since`. */
  | { readonly kind: 'response'; readonly since: number }
  /** The target is busy `since`. `cause`: why a webhook's last delivery is repeated. */
  | { readonly kind: 'target'; readonly since: number; readonly target: string; readonly cause?: string };

/** Shorter waits are normal: they come and go with each request. Ms. */
const usualWait = 1_000;

/** @param isShort for narrow lines. @example waitText({ kind: 'pause', left: 12_000, cause: 'HTTP 429' }) // 'paused for 12 s (HTTP 429)' */
export function waitText(wait: Wait, { isShort = false }: { readonly isShort?: boolean } = {}): string {
  const cause = 'cause' in wait && !isShort ? ` (${wait.cause})` : '';
  switch (wait.kind) {
    case 'stopping':
      return 'stopping';
    case 'pause':
      return `paused for ${formatDuration(wait.left)}${cause}`;
    case 'retry':
      return `retries in ${formatDuration(wait.left)}${cause}`;
    case 'limit':
      return isShort ? 'waiting for the limit' : `waiting ${formatDuration(wait.since)} for the limit`;
    case 'response':
      return `no response for ${formatDuration(wait.since)}`;
    case 'target':
      return isShort
        ? `waiting for ${wait.target}`
        : `waiting ${formatDuration(wait.since)} for ${wait.target}${cause}`;
  }
}

/** A wait in `--progress json`: for how long still (`leftMs`) or already (`sinceMs`). */
export interface WaitEvent {
  readonly for: Wait['kind'];
  readonly leftMs?: number;
  readonly sinceMs?: number;
  readonly cause?: string;
}

export function waitEvent(wait: Wait): WaitEvent {
  return {
    for: wait.kind,
    ...('left' in wait && { leftMs: Math.round(wait.left) }),
    ...('since' in wait && { sinceMs: Math.round(wait.since) }),
    ...('cause' in wait && { cause: wait.cause }),
  };
}

/** Why an attempt failed, in a few words. @example causeOf(event.error) // 'HTTP 503' */
export function describeCause({ code = 'error', details = {} }: Pick<ErrorReport, 'code' | 'details'>): string {
  const { status, platformCode } = details;
  if (typeof status === 'number') return `HTTP ${String(status)}`;
  if (code === 'network') return (typeof platformCode === 'string' && networkCauses[platformCode]) || 'no connection';
  return code === 'timeout' ? 'no response in time' : code.replaceAll('-', ' ');
}

const networkCauses: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  EPIPE: 'connection lost',
  ENOTFOUND: 'unknown host',
  EAI_AGAIN: 'unknown host',
  ETIMEDOUT: 'connection timed out',
};

/** Why the latest attempt was repeated, unless the wait says it already. */
export function otherCause(lastRetry: string | undefined, wait: Wait | undefined): string | undefined {
  return wait && 'cause' in wait && wait.cause === lastRetry ? undefined : lastRetry;
}

/** A request between its `request` and `settled` events. */
type OpenRequest =
  | { readonly is: 'queued' | 'sent'; readonly since: number }
  | { readonly is: 'backing off'; readonly until: number; readonly isLong: boolean; readonly cause: string };

/** Follows the requests of a client from now on, to say what they wait for. */
export class RequestWaits {
  /** Why the latest attempt was repeated. */
  lastRetry: string | undefined;
  readonly #client: Pick<Client, 'limiter' | 'limiters'>;
  readonly #clock: Clock;
  readonly #open = new Map<number, OpenRequest>();
  /** The latest pause that this process caused. */
  #pause: { readonly until: number; readonly cause?: string } = { until: 0 };

  constructor(client: Pick<Client, 'eventsOf' | 'limiter' | 'limiters'>, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
    client.eventsOf('request', 'attempt', 'paused', 'retry', 'settled').subscribe((event) => this.#follow(event));
  }

  #follow(event: EventOf<'request' | 'attempt' | 'paused' | 'retry' | 'settled'>): void {
    const now = this.#clock.monotonic();
    switch (event.type) {
      case 'request':
        this.#open.set(event.request, { is: 'queued', since: now });
        return;
      case 'attempt':
        this.#open.set(event.request, { is: 'sent', since: now });
        return;
      case 'paused':
        this.#pause = {
          until: now + event.for,
          ...(event.quota && { cause: `quota used up until ${formatClock(event.quota.resetAt)}` }),
        };
        return;
      case 'retry':
        this.lastRetry = describeCause(event.error);
        if (event.reason === 'rate-limited') this.#pause = { cause: this.lastRetry, ...this.#pause };
        this.#open.set(event.request, {
          is: 'backing off',
          until: now + event.delay,
          cause: this.lastRetry,
          isLong: event.delay >= usualWait,
        });
        return;
      case 'settled':
        this.#open.delete(event.request);
    }
  }

  /** What the requests wait for; `undefined` if they make progress, or there are none. */
  current(): Wait | undefined {
    const { limiter, limiters } = this.#client;
    const left = Math.max(limiter.pausedFor, ...[...limiters.values()].map(({ pausedFor }) => pausedFor));
    const now = this.#clock.monotonic();
    if (left > 0) {
      const { until, cause } = this.#pause;
      return { kind: 'pause', left, ...(until > now && cause !== undefined && { cause }) };
    }
    const open = [...this.#open.values()];
    const sent = open.flatMap((request) => (request.is === 'sent' ? [now - request.since] : []));
    if (sent.length > 0) return ifLong('response', Math.max(...sent));
    const retries = open.flatMap((each) => (each.is === 'backing off' && each.until > now ? [each] : []));
    const [next] = retries.toSorted((one, other) => one.until - other.until);
    if (next) return next.isLong ? { kind: 'retry', left: next.until - now, cause: next.cause } : undefined;
    const queued = open.map((each) => now - (each.is === 'backing off' ? each.until : each.since));
    return queued.length === 0 ? undefined : ifLong('limit', Math.max(...queued));
  }
}

function ifLong(kind: 'limit' | 'response', since: number): Wait | undefined {
  return since < usualWait ? undefined : { kind, since };
}

/** @example timeOf('2026-03-01T14:05:09.000Z') // '14:05 UTC' */
function formatClock(instant: string): string {
  return `${instant.slice(11, 16)} UTC`;
}

/** Follows the calls of a target, which never overlap. */
export class TargetWait {
  readonly #clock: Clock;
  readonly #target: string;
  readonly #cause: () => string | undefined;
  #since: number | undefined;

  /** @param target with an article, e.g. `the webhook`. */
  constructor(clock: Clock, target: string, cause: () => string | undefined = () => undefined) {
    this.#clock = clock;
    this.#target = target;
    this.#cause = cause;
  }

  /** Makes a call of the target. */
  readonly during = async <R>(call: () => Promise<R>): Promise<R> => {
    this.#since = this.#clock.monotonic();
    try {
      return await call();
    } finally {
      this.#since = undefined;
    }
  };

  current(): Wait | undefined {
    if (this.#since === undefined) return undefined;
    const since = this.#clock.monotonic() - this.#since;
    const cause = this.#cause();
    if (since < usualWait) return undefined;
    return { kind: 'target', since, target: this.#target, ...(cause !== undefined && { cause }) };
  }
}
