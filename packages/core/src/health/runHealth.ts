import { isCertificateFault } from '../isTransient.js';

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
   * how long it has refused all requests; absent if it has refused none. `isBudget`: not the API, but a limit that
   * outlives the process is used up.
   */
  | {
      readonly kind: 'pause';
      readonly left: number;
      readonly isBudget?: boolean | undefined;
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

/** Ms until what fails is an outage. */
const outage = 5_000;
/** Ms of refusals until what may only be a pause is an outage. */
const longPause = 60_000;

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
      if (health.isBudget === true) return `The run waits for its budget, which returns in ${inUnits(health.left)}.`;
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
