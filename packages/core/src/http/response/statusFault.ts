import { type Advice, type ErrorDetails, HttpError, RateLimitError, type SluiceError } from '../../errors.js';
import { isRateLimitStatus } from '../../retriedStatuses.js';
import type { AttemptResponse } from '../adapter/adapter.js';
import type { Secrets } from '../secrets.js';
import type { Quota, QuotaNotice } from '../limit/limiterTypes.js';
import { dateAfter, retryAfter } from './retryAfter.js';

/** Why an attempt failed, and whether another one may do better. */
export interface AttemptFault {
  readonly error: SluiceError;
  readonly retry: boolean;
  /** Ms the API requested to wait. */
  readonly retryAfter?: number | undefined;
  /** Whether the whole client waits, too. */
  readonly pauses?: boolean;
  /** Set if the limiter waits for this quota before the next attempt. */
  readonly usedUp?: { readonly wait: number; readonly quota?: Quota | undefined };
  readonly status?: number;
  /** Whether other credentials may do better. */
  readonly renews?: boolean;
  /** How often it is retried at most, besides the limits of all requests. */
  readonly maxRetries?: number;
  /** The API has done nothing for the request, so it may be sent again, whatever it does. */
  readonly isUnsent?: boolean;
}

export interface ResponseContext {
  readonly route: string;
  readonly secrets: Secrets;
  readonly now: number;
}

/**
 * The fault of a response whose status is an error.
 *
 * @param rules.hint what to do, appended to the message if not empty
 * @param rules.lower the option to lower after a rate limit
 * @param rules.advice the advice after any other status; that of a rate limit is fixed
 * @param rules.retry whether the status is one that may pass
 */
export function statusFault(
  { status, headers, text }: AttemptResponse,
  { route, secrets, now }: ResponseContext,
  rules: {
    readonly retry: boolean;
    readonly hint: string;
    readonly lower: 'rateLimit' | 'deliveries';
    readonly advice?: readonly Advice[];
  },
): AttemptFault {
  const { retry, hint, lower, advice } = rules;
  const excerpt = quote(text, secrets);
  const requested = retryAfter(headers['retry-after'], headers['date'], now);
  const quoted = excerpt === '' ? '' : ` ("${excerpt}")`;
  const message = `${route}: the server responded with ${status}${quoted}.${hint === '' ? '' : ` ${hint}`}`;
  const pauses = isRateLimitStatus(status);
  const error = pauses
    ? rateLimitError(message, { status, requested, now, details: { route, excerpt }, lower })
    : new HttpError(message, { status, excerpt, details: { route }, advice });
  return { error, retry, retryAfter: requested, pauses, status, isUnsent: status === tooEarly };
}

/** The server has not processed the request, since somebody may have replayed it (RFC 8470, 5.2). */
const tooEarly = 425;

/** The error of a response that asks for fewer requests. */
export function rateLimitError(
  message: string,
  about: {
    readonly status: number;
    /** Ms that the API requested to wait. */
    readonly requested: number | undefined;
    readonly now: number;
    readonly details: ErrorDetails;
    readonly lower: 'rateLimit' | 'deliveries';
  },
): RateLimitError {
  const { status, requested, now, details, lower } = about;
  const retryAt = requested === undefined ? undefined : dateAfter(now, requested);
  return new RateLimitError(message, {
    status,
    retryAt,
    details,
    advice: [{ kind: 'lower', option: lower }, { kind: 'wait' }],
  });
}

/**
 * The fault of a response that a quota refuses for now, with status 403 or 429: it is retried. A 403 with something
 * left may also mean that the request is not allowed, so a repeated one is final.
 */
export function underQuota(fault: AttemptFault, notice: QuotaNotice, wasForbidden: boolean): AttemptFault {
  const { refusal, quota } = notice;
  const { status, error } = fault;
  if (!refusal || status === undefined) return fault;
  if (refusal.kind === 'asked') return { ...fault, retry: true, pauses: true };
  if (status === 403 && wasForbidden && quota && quota.remaining > 0) return { ...fault, retry: false };
  const { wait, error: tooLong } = refusal;
  if (tooLong) return { error: tooLong, retry: false, status };
  const { route, excerpt } = error.details;
  const usedUp = new RateLimitError(
    `${String(route)}: the server responded with ${status}, since its quota is used up.`,
    {
      status,
      retryAt: quota && new Date(quota.resetAt),
      details: { route, excerpt },
      advice: [{ kind: 'lower', option: 'rateLimit' }, { kind: 'wait' }],
    },
  );
  const refused = { error: usedUp, retry: true, pauses: true, status };
  // Without a wait, the back-off is the pause.
  return wait === undefined ? { ...refused, retryAfter: fault.retryAfter } : { ...refused, usedUp: { wait, quota } };
}

const excerptLength = 200;

/** Characters of a body from which an excerpt is made, before blanks are collapsed. */
const excerptSource = 4096;

/** The beginning of a body on one line. Redacts before it cuts: half a secret would not be found. */
export function quote(text: string, secrets: Pick<Secrets, 'redact'>): string {
  const visible = text.slice(0, 4 * excerptSource).replace(invisible(), '');
  const line = secrets.redact(visible, excerptSource).replace(/\s+/g, ' ').trim();
  const isCut = line.length > excerptLength || text.length > excerptSource;
  const excerpt = isCut ? `${line.slice(0, excerptLength).replace(/[\ud800-\udbff]$/, '')}…` : line;
  // A slice would keep the whole body in memory as long as the error lives.
  return Array.from(excerpt).join('');
}

/** Invisible and terminal control characters, removed first: among them a secret would be readable, but not found. */
// eslint-disable-next-line no-control-regex -- the pattern must match controls
const invisible = (): RegExp => /[\u0000-\u0008\u000e-\u001f\u007f-\u009f]|\p{Cf}|\p{Variation_Selector}/gu;
