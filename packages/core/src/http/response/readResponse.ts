import {
  type Advice,
  DecodeError,
  type ErrorDetails,
  HttpError,
  RateLimitError,
  ResponseTooLargeError,
  NetworkError,
  RequestTimeoutError,
  UnexpectedRedirectError,
  type SluiceError,
} from '../../errors.js';
import type { AdapterFault, AttemptResponse } from '../adapter/adapter.js';
import type { ApiCredentials } from '../credentials/credentials.js';
import type { Quota, QuotaNotice } from '../limit/limiterTypes.js';
import { parseExactly } from './exactNumbers.js';
import { deepestDocument, isDeeperThan } from './nesting.js';
import { isCertificateFault, isRetriedStatus } from '../../isTransient.js';
import { JsonLineError, parseJsonLines } from './jsonLines.js';
import type { RequestDetails } from '../requestDetails.js';
import type { ResponseError } from './responseError.js';
import { mayConnectLater, dateAfter, retryAfter, wasUnsent } from '../retry/retryPolicy.js';
import type { Secrets } from '../credentials/secrets.js';

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
  /** The request was not sent, so it may be sent again, whatever it does. */
  readonly isUnsent?: boolean;
}

export interface ResponseContext {
  readonly route: string;
  readonly secrets: Secrets;
  readonly now: number;
}

interface ApiResponseContext extends ResponseContext, Pick<RequestDetails, 'format' | 'errors'> {
  readonly credentials: Pick<ApiCredentials, 'name' | 'isSent'>;
  /** Whether there may be no document, after a request that changes something. */
  readonly mayBeEmpty?: boolean;
  /** Whether the request asked for a part of the document. */
  readonly hasRange?: boolean;
  /** Whether the request had a validator, so that the response may be 304. */
  readonly isConditional?: boolean;
}

export type ReadResult =
  { readonly ok: true; readonly body: unknown } | { readonly ok: false; readonly fault: AttemptFault };

/** What the client's own key is called in messages. */
export const clientKey = 'API key';

const notModified = 304;

const excerptLength = 200;

/** Characters of a body from which an excerpt is made, before blanks are collapsed. */
const excerptSource = 4096;

/** Reads a response: returns the decoded document, or the reason why the attempt failed. */
export function readResponse(answer: AttemptResponse, context: ApiResponseContext): ReadResult {
  const { status, headers } = answer;
  const { route } = context;
  if (status >= 200 && status < 300) {
    const part = headers['content-range'];
    // Other units than bytes count rows, as some APIs do that page with 206.
    if (status === 206 && !context.hasRange && part !== undefined && /^\s*bytes\b/i.test(part)) {
      const message = `${route}: the server responded with a part of a document (206, with a Content-Range in bytes) to a request for all of it. Is a proxy in between?`;
      return failure({ error: new DecodeError(message, { route, status, path: '' }), retry: true, status });
    }
    const reading = readDocument(answer, context);
    return reading.ok ? checkErrors(reading.body, answer, context) : reading;
  }
  if (status === notModified) return readNotModified(answer, context);
  if (status >= 300 && status < 400) {
    const to = redirectOrigin(headers['location'], context.secrets);
    const message = `${route}: the server responded with a redirect (${String(status)}) to ${to}. It was not followed, since that would send the ${context.credentials.name} there: check the base URL.`;
    return failure({ error: new UnexpectedRedirectError(message, { route, status, to }), retry: false, status });
  }
  const { isSent, name } = context.credentials;
  const isKeyless = (status === 401 || status === 403) && !isSent && name === clientKey;
  return failure(
    faultOfStatus(answer, context, {
      retry: isRetriedStatus(status),
      hint: adviceFor(status, context.credentials),
      lower: 'rateLimit',
      advice: isKeyless ? [{ kind: 'set', option: 'apiKey' }] : [],
    }),
  );
}

/**
 * The fault of a response whose status is an error.
 *
 * @param rules.hint what to do, appended to the message if not empty
 * @param rules.lower the option to lower after a 429
 * @param rules.advice the advice after any other status; that of a 429 is fixed
 * @param rules.retry whether the status is one that may pass
 */
export function faultOfStatus(
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
  const excerpt = excerptOf(text, secrets);
  const requested = retryAfter(headers['retry-after'], headers['date'], now);
  const quoted = excerpt === '' ? '' : ` ("${excerpt}")`;
  const message = `${route}: the server responded with ${status}${quoted}.${hint === '' ? '' : ` ${hint}`}`;
  const error =
    status === 429
      ? rateLimitError(message, { status, requested, now, details: { route, excerpt }, lower })
      : new HttpError(message, { status, excerpt, details: { route }, advice });
  // A quota applies to the whole client, so a 429 pauses it.
  return { error, retry, retryAfter: requested, pauses: status === 429, status };
}

function rateLimitError(
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
export function faultUnderQuota(fault: AttemptFault, notice: QuotaNotice, wasForbidden: boolean): AttemptFault {
  const { refusal, quota } = notice;
  const { status, error } = fault;
  if (!refusal || status === undefined) return fault;
  if (status === 403 && wasForbidden && quota && quota.remaining > 0) return { ...fault, retry: false };
  if (refusal.kind === 'asked') return { ...fault, retry: true, pauses: true };
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

/** A 304 has no content (RFC 9110, 15.4.5): what a server sends in spite of that is not looked at. */
function readNotModified(
  { status }: AttemptResponse,
  { route, isConditional = false }: ApiResponseContext,
): ReadResult {
  if (isConditional) return { ok: true, body: null };
  const message = `${route}: the server responded with 304 (not modified) to a request without a validator, so there is nothing that it can stand for. Is a cache in between?`;
  return failure({ error: new HttpError(message, { status, excerpt: '', details: { route } }), retry: false, status });
}

function readDocument({ status, headers, text }: AttemptResponse, context: ApiResponseContext): ReadResult {
  const { route, secrets, format, mayBeEmpty = false } = context;
  if (mayBeEmpty && (status === 204 || status === 205) && text === '') return { ok: true, body: null };
  let document: unknown;
  try {
    document = format === 'jsonLines' ? parseJsonLines(text) : parseExactly(text);
  } catch (error) {
    if (error instanceof JsonLineError) return failure({ error: lineFault(error, route, status), retry: true, status });
    // The parser's message is not used: it quotes the document, which may contain a secret.
    const excerpt = excerptOf(text, secrets);
    const isHtml = /html/i.test(headers['content-type'] ?? '') || /^\s*</.test(text);
    const found =
      text.trim() === '' ? 'an empty body' : isHtml ? 'a web page' : 'something that is not JSON, or not all of it';
    const message = `${route}: the server responded with status ${String(status)} and ${found}${excerpt === '' ? '' : `: "${excerpt}"`}. Is a proxy or a sign-in page in between?`;
    return failure({ error: new DecodeError(message, { route, status, excerpt, path: '' }), retry: true, status });
  }
  if (!isDeeperThan(deepestDocument, document, text)) return { ok: true, body: document };
  const message = `${route}: the server responded with a document whose lists and objects are nested more than ${deepestDocument} levels deep, which is not safe to process. Is the base URL right?`;
  return failure({ error: new DecodeError(message, { route, status, path: '' }), retry: false, status });
}

function lineFault({ line, what }: JsonLineError, route: string, status: number): DecodeError {
  const message = `${route}: the server responded with JSON Lines whose line ${line} ${what}. Is the format right?`;
  return new DecodeError(message, { route, status, excerpt: '', path: `[${line - 1}]`, line });
}

/** Looks for an error in a document that came with a success status. */
function checkErrors(body: unknown, answer: AttemptResponse, context: ApiResponseContext): ReadResult {
  const { status, headers } = answer;
  const { route, secrets, now, errors } = context;
  let found: ResponseError | undefined;
  try {
    found = errors?.({ status, headers, body });
  } catch {
    // The original may quote the document.
    const message = `${route}: the function that looks for errors in responses failed. Check the definition's \`errors\`.`;
    return failure({ error: new DecodeError(message, { route, status, path: '' }), retry: false, status });
  }
  if (!found || found.kind === 'partial') return { ok: true, body };
  const {
    kind,
    message: said,
    status: meant = status,
    retryAfter: requested = retryAfter(headers['retry-after'], headers['date'], now),
  } = found;
  const excerpt = excerptOf(said, secrets);
  const message = `${route}: the server responded with status ${status} and an error ("${excerpt}").`;
  const isLimit = kind === 'rate-limited';
  const error = isLimit
    ? rateLimitError(message, { status: meant, requested, now, details: { route, excerpt }, lower: 'rateLimit' })
    : new HttpError(message, { status: meant, excerpt, details: { route, isTemporary: kind === 'temporary' } });
  return failure({ error, retry: kind !== 'final', retryAfter: requested, pauses: isLimit, status: meant });
}

/** The error of an attempt without a response. `limits` (ms, bytes) is for the message. */
export function faultOf(
  fault: AdapterFault,
  route: string,
  limits: { readonly connect: number; readonly maxBodyBytes: number; readonly host: string },
): AttemptFault {
  const because = fault.platformCode === undefined ? '' : ` (${fault.platformCode})`;
  const details = { route, platformCode: fault.platformCode };
  const undecodable = (what: string): AttemptFault => ({
    error: new DecodeError(`${route}: the server responded${what}`, { ...details, path: '', excerpt: '' }),
    retry: true,
  });
  const tooLarge = (what: string, cap: { maxBodyBytes?: number }, advice: readonly Advice[]): AttemptFault => ({
    error: new ResponseTooLargeError(`${route}: the server responded with ${what}`, { route, ...cap }, advice),
    retry: false,
  });
  switch (fault.kind) {
    case 'connect-timeout':
      return { error: timeoutError(route, 'connect', limits.connect), retry: true, isUnsent: true };
    case 'network':
    case 'stale': {
      const message = `${route}: the server did not respond: the connection failed${because}. ${adviceForNetwork(fault)}`;
      const retry = mayConnectLater(fault.platformCode, limits.host);
      return { error: new NetworkError(message, { details }), retry, isUnsent: wasUnsent(fault.platformCode) };
    }
    case 'outdated': {
      const message = `${route}: ten permits in a row were too old when the request could be written. Is this process too busy, or its limiter too far away?`;
      return { error: new NetworkError(message, { details }), retry: false, isUnsent: true };
    }
    case 'cut-body':
      return undecodable(
        `, but the body broke off before its end, or can't be decompressed${because}. Try again later.`,
      );
    case 'not-text':
      return undecodable(' with bytes that are not UTF-8 text. Is the base URL right?');
    case 'too-large': {
      const { maxBodyBytes } = limits;
      return tooLarge(`more than ${String(maxBodyBytes)} bytes.`, { maxBodyBytes }, [
        { kind: 'lower', option: 'pageSize' },
        { kind: 'raise', option: 'maxBodyBytes' },
      ]);
    }
    case 'too-heavy':
      return tooLarge(
        "a document that would take more than a sixteenth of this process's memory once parsed. Raise the memory with Node's --max-old-space-size.",
        {},
        [{ kind: 'lower', option: 'pageSize' }],
      );
  }
}

export function timeoutError(
  route: string,
  deadline: 'connect' | 'response' | 'total',
  ms: number,
): RequestTimeoutError {
  const what = {
    connect: 'no connection',
    response: 'no complete response',
    total: 'not completed, retries included,',
  }[deadline];
  return new RequestTimeoutError(`${route}: ${what} within ${String(ms)} ms.`, {
    details: { route, deadline, ms },
    advice: [{ kind: 'wait' }, { kind: 'raise', option: `timeouts.${deadline}` }],
  });
}

/** @param route of the request that gets no response, if there is one */
export function closedError(route?: string): NetworkError {
  const what = route === undefined ? 'No request is sent any more' : `${route}: no response`;
  return new NetworkError(`${what}, because the client was closed. Create a new client to continue.`, {
    fault: 'caller',
    details: { ...(route !== undefined && { route }), isClosed: true },
  });
}

export function linkTimeoutError(route: string, ms: number): RequestTimeoutError {
  const message = `${route}: not completed by its links within ${String(ms)} ms. Does one of them wait for something that never happens?`;
  return new RequestTimeoutError(message, {
    details: { route, deadline: 'total', ms },
    advice: [{ kind: 'raise', option: 'timeouts.total' }],
  });
}

/** The beginning of a body on one line. Redacts before it cuts: half a secret would not be found. */
function excerptOf(text: string, secrets: Secrets): string {
  const visible = text.slice(0, 4 * excerptSource).replace(invisible, '');
  const line = secrets.redact(visible, excerptSource).replace(/\s+/g, ' ').trim();
  const isCut = line.length > excerptLength || text.length > excerptSource;
  const excerpt = isCut ? `${line.slice(0, excerptLength).replace(/[\ud800-\udbff]$/, '')}…` : line;
  // A slice would keep the whole body in memory as long as the error lives.
  return Array.from(excerpt).join('');
}

/** Invisible and terminal control characters, removed first: among them a secret would be readable, but not found. */
// eslint-disable-next-line no-control-regex -- the pattern must match controls
const invisible = /[\u0000-\u0008\u000e-\u001f\u007f-\u009f]|\p{Cf}|\p{Variation_Selector}/gu;

function redirectOrigin(location: string | undefined, secrets: Secrets): string {
  if (location === undefined || secrets.has(location)) return 'an address that is not shown';
  return URL.canParse(location) ? new URL(location).origin : 'another path';
}

function adviceForNetwork({ platformCode = '' }: AdapterFault): string {
  return isCertificateFault(platformCode)
    ? 'Its certificate is not trusted: if your network has an authority of its own, name it in NODE_EXTRA_CA_CERTS.'
    : 'Check the network and the base URL.';
}

function adviceFor(status: number, { name, isSent }: ApiResponseContext['credentials']): string {
  if (status === 401 || status === 403)
    return isSent ? `Check the ${name} and what it may read.` : `No ${name} was sent.`;
  if (status === 404) return 'Check the base URL.';
  if (status === 429) return '';
  if (isRetriedStatus(status)) return 'The service is in trouble: try again later.';
  return 'Check the request.';
}

function failure(fault: AttemptFault): ReadResult {
  return { ok: false, fault };
}
