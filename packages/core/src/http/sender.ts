import { createAdapter } from '#adapter';
import { checkOptions } from '../checks.js';
import { systemClock } from '../clock.js';
import { type Fault, SluiceError, UnexpectedRedirectError } from '../errors.js';
import { isRateLimitStatus, isRetriedStatus } from '../retriedStatuses.js';
import type { AddressGuard, AttemptResponse } from './adapter/adapter.js';
import type { ReadResult } from './response/readResponse.js';
import { httpDate } from './response/retryAfter.js';
import { type ResponseContext, statusFault } from './response/statusFault.js';
import type { HttpEvent } from './events.js';
import { requestOptionNames, applyDefaults, type RequestOptions } from './requestTimes.js';
import { Secrets } from './secrets.js';
import { listLimits, type RateLimit } from './limit/limit.js';
import { LocalLimiter } from './limit/localLimiter.js';
import { startExchanges } from './exchange.js';

/** Options of {@link createSender}. */
export interface SenderOptions extends RequestOptions {
  /** The URL to send to. Only its origin is ever shown, since the rest may contain a token. */
  readonly url: string;
  /** Refuses addresses. With it, the proxies of the environment are not used. */
  readonly guard?: AddressGuard | undefined;
  /** Texts to redact from errors: signing secrets, tokens in headers. */
  readonly secrets?: readonly string[] | undefined;
  /**
   * How many attempts may start, in any window: `{ requests: 10, per: 1000 }` for ten a second, or several limits that all
   * hold. It counts what this sender sends. Default: no limit but the pauses that the endpoint asks for.
   */
  readonly rateLimit?: RateLimit | undefined;
  /** Called with each HTTP event; what it throws is ignored. */
  readonly onEvent?: ((event: HttpEvent) => void) | undefined;
}

/** A message to send. */
export interface Message {
  /** Sent by POST, as JSON. Without one, the message is a GET. */
  readonly body?: string | undefined;
  /** Returns the headers of one attempt. Called before each, because a signature contains the time. */
  readonly headers: () => Readonly<Record<string, string>>;
  /** Cancels the request: the promise rejects with `signal.reason`. */
  readonly signal: AbortSignal;
}

/** The confirmation that the endpoint accepted a message. */
export interface Receipt {
  readonly status: number;
  /** At least 1. */
  readonly attempts: number;
}

/** Sends to one endpoint, with deadlines, retries and limits like those of any request. */
export interface Sender {
  /** The endpoint's name in errors and events. */
  readonly name: string;
  /** Resolves when the endpoint accepted the message (2xx); rejects with a `SluiceError` otherwise, after retries. */
  send(message: Message): Promise<Receipt>;
  /** Redacts these texts, too, from now on, e.g. a secret that replaces another one. */
  hide(secrets: readonly string[]): void;
  /** Closes the connections and ends pending requests with a `NetworkError`. */
  close(): Promise<void>;
}

/** Bytes of a response to read: it is only quoted in errors. */
const bytesOfAnswer = 16 * 1024;

/** Creates a sender of messages to an endpoint. @throws ConfigError if an option is invalid. */
export function createSender(options: SenderOptions): Sender {
  checkOptions('createSender()', options, {
    ...requestOptionNames,
    url: true,
    guard: true,
    secrets: true,
    rateLimit: true,
    onEvent: true,
  });
  const { url, guard, onEvent, clock = systemClock, random = Math.random } = options;
  const { origin } = new URL(url);
  const name = `The endpoint ${origin}`;
  const { timeouts, retry } = applyDefaults(options);
  const secrets = new Secrets();
  const hide = (texts: readonly string[]): void => {
    for (const text of texts) secrets.add(text);
  };
  hide(options.secrets ?? []);
  const limiter = new LocalLimiter(listLimits(options.rateLimit ?? false), clock, { longestPending: timeouts.connect });
  const closing = new AbortController();
  let isKnown = false;
  const adapter = (options.adapter ?? createAdapter)({
    connectTimeout: timeouts.connect,
    maxBodyBytes: bytesOfAnswer,
    bodies: 'beginning',
    proxies: false,
    guard,
  });
  const call = startExchanges({
    adapter,
    clock,
    random,
    timeouts,
    retry,
    maxBodyBytes: bytesOfAnswer,
    address: 'URL',
    closed: closing.signal,
    emit(_type, make) {
      try {
        onEvent?.(make());
      } catch {
        // Observers cannot affect requests.
      }
    },
  });
  return {
    name,
    async send({ body, headers, signal }) {
      const sent = call({
        route: name,
        method: body === undefined ? 'GET' : 'POST',
        url,
        body,
        signal,
        shownUrl: () => origin,
        headers: { ...(body !== undefined && { 'Content-Type': 'application/json' }), 'User-Agent': 'sluice' },
        limiter,
        credentials: { current: () => ({ headers: headers() }) },
        isKnown: () => isKnown,
        read(response, now) {
          isKnown = true;
          return readReceipt(response, { route: name, secrets, now });
        },
      });
      const { status, attempts } = await sent.catch((error: unknown) => {
        throw SluiceError.is(error) ? Object.assign(error, { fault: 'endpoint' satisfies Fault }) : error;
      });
      return { status, attempts };
    },
    hide,
    close() {
      closing.abort();
      return adapter.close();
    },
  };
}

/**
 * Reads the response to a message: only its status counts, whatever the body is.
 *
 * 2xx means accepted. What may succeed later is retried; a `Retry-After` then pauses everything for that endpoint.
 */
function readReceipt(response: AttemptResponse, context: ResponseContext): ReadResult {
  const { status } = response;
  if (status >= 200 && status < 300) return { ok: true, body: response.text };
  if (status >= 300 && status < 400) {
    const { route } = context;
    const message = `${route}: the server responded with a redirect (${status}). It was not followed, since it may lead anywhere: use the endpoint's final URL.`;
    const error = new UnexpectedRedirectError(message, { route, status });
    return { ok: false, fault: { error, retry: false, status } };
  }
  const isLater = isRetriedStatus(status);
  const hint = clockAdvice(response, context.now) ?? adviceFor(status, isLater);
  const fault = statusFault(response, context, { retry: isLater, hint, lower: 'deliveries' });
  return { ok: false, fault: isLater && fault.retryAfter !== undefined ? { ...fault, pauses: true } : fault };
}

/** A signature contains the time, and receivers usually refuse one that is more than 5 minutes old or ahead. */
const usualSkew = 60_000;

/** What to do if the signature was probably refused because of the time in it. */
function clockAdvice({ status, headers }: AttemptResponse, now: number): string | undefined {
  if (status !== 400 && status !== 401) return undefined;
  const theirs = httpDate(headers['date']?.trim() ?? '', now);
  if (theirs === undefined || Math.abs(theirs - now) < usualSkew) return undefined;
  const minutes = Math.round(Math.abs(theirs - now) / 60_000);
  const skew = minutes < 120 ? `${minutes} min` : `${Math.round(minutes / 60)} h`;
  return `The clocks differ by ${skew}: it is ${isoMinute(theirs)} there, and ${isoMinute(now)} here. Set the wrong one, since a signature is accepted for minutes only.`;
}

function isoMinute(at: number): string {
  return `${new Date(at).toISOString().slice(0, 16)}Z`;
}

function adviceFor(status: number, isLater: boolean): string {
  if (status === 401 || status === 403) return 'It does not accept the signature or the headers: check the secret.';
  if (status === 404) return 'Check its URL.';
  if (status === 410) return 'It is permanently gone: ask its operator for the new URL.';
  if (isRateLimitStatus(status)) return 'It asks for fewer requests.';
  return isLater ? 'It is in trouble: try again later.' : 'Check its logs for the reason.';
}
