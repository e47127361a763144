import {
  type Advice,
  ConfigError,
  DecodeError,
  HttpError,
  ResponseTooLargeError,
  SluiceError,
  UnexpectedRedirectError,
} from '../../errors.js';
import { isRateLimitStatus, isRetriedStatus } from '../../retriedStatuses.js';
import type { AttemptResponse } from '../adapter/adapter.js';
import type { ApiCredentials } from '../credentials.js';
import type { Secrets } from '../secrets.js';
import type { RequestDetails } from '../requestDetails.js';
import { retryAfter } from './retryAfter.js';
import { deepestDocument, parseExactly } from './exactNumbers.js';
import { JsonLineError, parseJsonLines } from './jsonLines.js';
import { type BodyParser, parseBody, ParseFault } from './parsedBody.js';
import { defaultKindOf, meaningOf, type Responses, type SaidMeaning } from './responses.js';
import { type AttemptFault, quote, rateLimitError, type ResponseContext, statusFault } from './statusFault.js';

export type ReadResult =
  | {
      readonly ok: true;
      readonly body: unknown;
      /** Ms for which the API asks all requests to wait. */
      readonly pause?: number | undefined;
    }
  | { readonly ok: false; readonly fault: AttemptFault };

interface ApiResponseContext extends ResponseContext, Pick<RequestDetails, 'format' | 'parse' | 'page'> {
  readonly meanings?: Responses | undefined;
  readonly credentials: Pick<ApiCredentials, 'name' | 'isSent'>;
  /** Whether the request asked for a part of the document. */
  readonly hasRange?: boolean;
  /** Whether the request had a validator, so that the response may be 304. */
  readonly isConditional?: boolean;
  /** The largest size of a document that `parse` makes, as JSON. */
  readonly maxBodyBytes?: number;
  /** Why a redirect is not followed. Default: it would send the credentials elsewhere. */
  readonly redirectRefusal?: string | undefined;
}

/** What the client's own key is called in messages. */
export const clientKey = 'API key';

const notModified = 304;

/** Reads a response: returns the decoded document, or the reason why the attempt failed. */
export function readResponse(response: AttemptResponse, context: ApiResponseContext): ReadResult {
  const { status, headers } = response;
  const { route } = context;
  if (status === notModified) return readNotModified(response, context);
  if (status >= 300 && status < 400) {
    const to = redirectOrigin(headers['location'], context.secrets);
    const why = context.redirectRefusal ?? `that would send the ${context.credentials.name} there`;
    const message = `${route}: the server responded with a redirect (${String(status)}) to ${to}. It was not followed, since ${why}: check the base URL.`;
    return failure({ error: new UnexpectedRedirectError(message, { route, status, to }), retry: false, status });
  }
  const part = headers['content-range'];
  // Other units than bytes count rows, as some APIs do that page with 206.
  if (status === 206 && !context.hasRange && part !== undefined && /^\s*bytes\b/i.test(part)) {
    const message = `${route}: the server responded with a part of a document (206, with a Content-Range in bytes) to a request for all of it. Is a proxy in between?`;
    return failure({ error: new DecodeError(message, { route, status, path: '' }), retry: true, status });
  }
  if (!context.meanings) return readByStatus(response, context);
  const reading = readDocument(response, context);
  let said: SaidMeaning | undefined;
  try {
    said = askMeaning(response, reading, context);
  } catch (error) {
    // The status of an outage is enough: what a proxy sends then fits no definition.
    if (isRetriedStatus(status)) return readByStatus(response, context);
    return failure({ error: askingFault(error, route, status), retry: false, status });
  }
  if (said === undefined) return readByStatus(response, context, reading);
  if (said.kind !== 'ok' && said.kind !== 'partial') return failure(saidFault(said, response, context));
  return reading.ok ? { ...reading, pause: said.pause } : reading;
}

/** Reads a response whose status says what it means. */
function readByStatus(response: AttemptResponse, context: ApiResponseContext, reading?: ReadResult): ReadResult {
  const { status, headers } = response;
  const { now, credentials } = context;
  const kind = defaultKindOf(status);
  if (kind === 'ok') return reading ?? readDocument(response, context);
  const { isSent, name } = credentials;
  const isKeyless = (status === 401 || status === 403) && !isSent && name === clientKey;
  const isAskedToWait =
    kind === 'final' &&
    status < 500 &&
    status !== 407 &&
    retryAfter(headers['retry-after'], headers['date'], now) !== undefined;
  const fault = statusFault(response, context, {
    retry: kind === 'retry' || kind === 'rate-limited' || isAskedToWait,
    hint: adviceFor(status, credentials),
    lower: 'rateLimit',
    advice: isKeyless ? [{ kind: 'set', option: 'apiKey' }] : [],
  });
  return failure({ ...fault, renews: kind === 'renew', ...(isAskedToWait && { maxRetries: obeyedWaits }) });
}

/** How often a `Retry-After` is obeyed whose status does not say that the request may succeed later. */
const obeyedWaits = 3;

/** A 304 has no content (RFC 9110, 15.4.5): what a server sends in spite of that is not looked at. */
function readNotModified(
  { status }: AttemptResponse,
  { route, isConditional = false }: ApiResponseContext,
): ReadResult {
  if (isConditional) return { ok: true, body: null };
  const message = `${route}: the server responded with 304 (not modified) to a request without a validator, so there is nothing that it can stand for. Is a cache in between?`;
  return failure({ error: new HttpError(message, { status, excerpt: '', details: { route } }), retry: false, status });
}

function readDocument(response: AttemptResponse, context: ApiResponseContext): ReadResult {
  const { status, headers, text } = response;
  const { route, secrets, format, parse } = context;
  if ((status === 204 || status === 205) && text === '') return { ok: true, body: null };
  if (parse && text.trim() !== '') return readParsed(parse, response, context);
  try {
    // Errors of such an API are documents.
    return { ok: true, body: format === 'jsonLines' && status < 300 ? parseJsonLines(text) : parseExactly(text) };
  } catch (error) {
    if (error instanceof RangeError) {
      const message = `${route}: the server responded with a document whose lists and objects are nested more than ${deepestDocument} levels deep, which is not safe to process. Is the base URL right?`;
      return failure({ error: new DecodeError(message, { route, status, path: '' }), retry: false, status });
    }
    if (error instanceof JsonLineError) return failure({ error: lineFault(error, route, status), retry: true, status });
    // The parser's message is not used: it quotes the document, which may contain a secret.
    const excerpt = quote(text, secrets);
    const isHtml = /html/i.test(headers['content-type'] ?? '') || /^\s*</.test(text);
    const found =
      text.trim() === '' ? 'an empty body' : isHtml ? 'a web page' : 'something that is not JSON, or not all of it';
    const message = `${route}: the server responded with status ${String(status)} and ${found}${excerpt === '' ? '' : `: "${excerpt}"`}. Is a proxy or a sign-in page in between?`;
    return failure({ error: new DecodeError(message, { route, status, excerpt, path: '' }), retry: true, status });
  }
}

/** The errors have nothing of the body: only the parser knows where a secret may be in it. */
function readParsed(parse: BodyParser, response: AttemptResponse, context: ApiResponseContext): ReadResult {
  const { route, maxBodyBytes = Infinity } = context;
  const { status } = response;
  try {
    return { ok: true, body: parseBody(parse, response, maxBodyBytes) };
  } catch (error) {
    const { kind, message: what } =
      error instanceof ParseFault ? error : new ParseFault('unfit', 'what can not be read');
    if (kind === 'refused') {
      const message = `${route}: the server responded with status ${status} and a body that the definition's \`parse\` refuses. Is a proxy or a sign-in page in between, or does it not fit the API?`;
      const details = { route, status, excerpt: '', path: '' };
      return failure({ error: new DecodeError(message, details), retry: true, status });
    }
    if (kind === 'unfit') {
      const message = `${route}: the definition's \`parse\` returned ${what}. It must return what JSON can represent.`;
      return failure({ error: new DecodeError(message, { route, status, path: '' }), retry: false, status });
    }
    const message = `${route}: the definition's \`parse\` made a document of more than ${maxBodyBytes} characters as JSON.`;
    const advice: readonly Advice[] = [
      { kind: 'lower', option: 'pageSize' },
      { kind: 'raise', option: 'maxBodyBytes' },
    ];
    return failure({
      error: new ResponseTooLargeError(message, { route, maxBodyBytes }, advice),
      retry: false,
      status,
    });
  }
}

function lineFault({ line, what }: JsonLineError, route: string, status: number): DecodeError {
  const message = `${route}: the server responded with JSON Lines whose line ${line} ${what}. Is the format right?`;
  return new DecodeError(message, { route, status, excerpt: '', path: `[${line - 1}]`, line });
}

/** What the response means to the definition. @throws what its function throws; ConfigError. */
function askMeaning(
  { status, headers, text }: AttemptResponse,
  reading: ReadResult,
  { meanings, page = 1 }: ApiResponseContext,
): SaidMeaning | undefined {
  const received = text.trim() === '' ? undefined : text;
  const body = reading.ok && received !== undefined ? reading.body : received;
  return meaningOf([meanings], { status, headers, body, page, isFirst: page === 1 });
}

function askingFault(error: unknown, route: string, status: number): SluiceError {
  if (SluiceError.is(error, 'config')) {
    const message = `${route}: what its \`responses\` say about a response with status ${status} is invalid. ${error.summary}`;
    return new ConfigError(message, { route, status });
  }
  // The original may quote the document.
  const message = `${route}: its function \`responses\` failed at a response with status ${status}. Check the definition: a body may be a document, text or missing.`;
  return new DecodeError(message, { route, status, path: '' });
}

/** The fault of a response that the definition takes for an error. */
function saidFault(said: SaidMeaning, response: AttemptResponse, context: ApiResponseContext): AttemptFault {
  const { status, headers, text } = response;
  const { route, secrets, now, credentials } = context;
  const {
    kind,
    message: given = text,
    retryAfter: requested = retryAfter(headers['retry-after'], headers['date'], now),
  } = said;
  const excerpt = quote(given, secrets);
  const quoted = excerpt === '' ? '' : ` ("${excerpt}")`;
  const what =
    status >= 400 || given === '' ? `with ${status}${quoted}` : `with status ${status} and an error${quoted}`;
  const hint = kind === 'renew' ? ` ${adviceFor(401, credentials)}` : '';
  const message = `${route}: the server responded ${what}.${hint}`;
  const pauses = kind === 'rate-limited';
  const error = pauses
    ? rateLimitError(message, { status, requested, now, details: { route, excerpt }, lower: 'rateLimit' })
    : new HttpError(message, { status, excerpt, details: { route, isTemporary: kind === 'retry', means: kind } });
  const retry = kind === 'retry' || pauses;
  // A token that expires must not skip all that follow, or end a listing in its middle.
  const renews = kind === 'renew' || ((kind === 'skip' || kind === 'end') && status === 401);
  return { error, retry, retryAfter: requested, pauses, renews, status };
}

function redirectOrigin(location: string | undefined, secrets: Secrets): string {
  if (location === undefined || secrets.has(location)) return 'an address that is not shown';
  return URL.canParse(location) ? new URL(location).origin : 'another path';
}

function adviceFor(status: number, { name, isSent }: ApiResponseContext['credentials']): string {
  if (status === 401 || status === 403)
    return isSent ? `Check the ${name} and what it may read.` : `No ${name} was sent.`;
  if (status === 404) return 'Check the base URL.';
  if (isRateLimitStatus(status)) return '';
  if (isRetriedStatus(status)) return 'The service is in trouble: try again later.';
  return 'Check the request.';
}

function failure(fault: AttemptFault): ReadResult {
  return { ok: false, fault };
}
