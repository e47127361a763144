import { createAdapter } from '#adapter';
import { systemClock } from '../clock.js';
import { type Fault, HttpError, RateLimitError, SluiceError, UnexpectedRedirectError } from '../errors.js';
import { isRetriedStatus } from '../isTransient.js';
import type { AddressGuard, AttemptAnswer } from './adapter/adapter.js';
import { type AnswerContext, type AttemptFault, excerptOf, type Reading } from './answer.js';
import { axiosTransport } from './axiosTransport.js';
import type { HttpEvent } from './events.js';
import { requestTimesOf, type RequestOptions } from './requestTimes.js';
import { dateAfter, retryAfter } from './retryPolicy.js';
import { Secrets } from './secrets.js';
import { unlimited } from './unlimited.js';

/** Options of {@link createSender}. */
export interface SenderOptions extends RequestOptions {
  /** Where everything goes. It is never shown beyond its origin, since a token may stand in it. */
  readonly url: string;
  /** Refuses addresses; also turns off the proxies of the environment. */
  readonly guard?: AddressGuard;
  /** Texts that must not stand in any error: signing secrets, tokens in headers. */
  readonly secrets?: readonly string[];
  /** Called with each HTTP event; what it throws is ignored. */
  readonly onEvent?: (event: HttpEvent) => void;
}

/** Something to send. */
export interface Message {
  readonly body: string;
  /** The headers of one attempt, requested for again before each: a signature holds the time. */
  readonly headers: () => Readonly<Record<string, string>>;
  /** Ends it at once: the promise rejects with `signal.reason`. */
  readonly signal: AbortSignal;
}

/** That something was taken. */
export interface Receipt {
  readonly status: number;
  /** At least 1. */
  readonly attempts: number;
}

/** Sends to one endpoint, with the deadlines, retries and caps of any other request. */
export interface Sender {
  /** How the endpoint is called in errors and events. */
  readonly name: string;
  /** Resolves when the endpoint took it (2xx); rejects with a `SluiceError` when it did not, in spite of retries. */
  send(message: Message): Promise<Receipt>;
  /** Ms for which nothing is sent, since the endpoint requested for it. */
  readonly pausedFor: number;
  /** Closes its connections, and ends what is under way with a `NetworkError`. */
  close(): Promise<void>;
}

/** Bytes of an answer that are looked at: it is only quoted in errors. */
const bytesOfAnswer = 16 * 1024;

/**
 * A sender for an endpoint that takes what is posted to it.
 *
 * @throws ConfigError if an option makes no sense.
 */
export function createSender(options: SenderOptions): Sender {
  const { url, guard, onEvent, clock = systemClock, random = Math.random } = options;
  const { origin } = new URL(url);
  const name = `The endpoint ${origin}`;
  const { timeouts, retry } = requestTimesOf(options);
  const secrets = new Secrets();
  for (const secret of options.secrets ?? []) secrets.add(secret);
  const limiter = unlimited(clock);
  const closing = new AbortController();
  const adapter = (options.adapter ?? createAdapter)({
    ...{ connectTimeout: timeouts.connect, maxBodyBytes: bytesOfAnswer, bodies: 'beginning', proxies: false },
    ...(guard && { guard }),
  });
  const call = axiosTransport({
    ...{ adapter, limiter, clock, random, timeouts, retry, maxBodyBytes: bytesOfAnswer, closed: closing.signal },
    emit(event) {
      try {
        onEvent?.(event());
      } catch {
        // Whoever watches can't alter what is sent.
      }
    },
  });
  return {
    name,
    async send({ body, headers, signal }) {
      const sent = call({
        ...{ route: name, method: 'POST', url, body, signal, shownUrl: () => origin },
        headers: { 'Content-Type': 'application/json', 'User-Agent': 'sluice' },
        credentials: { prepare: () => Promise.resolve(headers), renew: () => Promise.resolve(false) },
        read: (answer, now) => readReceipt(answer, { route: name, secrets, now }),
      });
      const { status, attempts } = await sent.catch((error: unknown) => {
        throw SluiceError.is(error) ? Object.assign(error, { fault }) : error;
      });
      return { status, attempts };
    },
    get pausedFor() {
      return limiter.state.pausedFor;
    },
    close() {
      closing.abort();
      return adapter.close();
    },
  };
}

const fault: Fault = 'endpoint';

/** 425: the endpoint did not want to risk that it had seen the request before (RFC 8470). */
const tooEarly = 425;

/**
 * Reads what came back for something that was sent: its status says all, whatever the body is.
 *
 * 2xx took it. 408, 425, 429 and 5xx may take it later; a `Retry-After` then holds back everything for that endpoint.
 */
function readReceipt(answer: AttemptAnswer, context: AnswerContext): Reading {
  const { status } = answer;
  if (status >= 200 && status < 300) return { ok: true, body: answer.body.text };
  return { ok: false, fault: faultOfStatus(answer, context) };
}

function faultOfStatus({ status, headers, body }: AttemptAnswer, { route, secrets, now }: AnswerContext): AttemptFault {
  if (status >= 300 && status < 400) {
    const message = `${route} responded with a redirect (${status}). It was not followed, since it may lead anywhere: use the endpoint's final address.`;
    return { error: new UnexpectedRedirectError(message, { route, status }), retry: false, status };
  }
  const excerpt = excerptOf(body.text, secrets);
  const requested = retryAfter(headers['retry-after'], headers['date'], now);
  const isLater = isRetriedStatus(status) || status === tooEarly || status >= 500;
  const message = `${route} responded with ${status}${excerpt === '' ? '' : ` ("${excerpt}")`}. ${adviceFor(status, isLater)}`;
  const error =
    status === 429
      ? new RateLimitError(message, {
          status,
          retryAt: requested === undefined ? undefined : dateAfter(now, requested),
          details: { route, excerpt },
          advice: [{ kind: 'lower', option: 'concurrency' }, { kind: 'wait' }],
        })
      : new HttpError(message, { status, excerpt, details: { route } });
  const pauses = status === 429 || (isLater && requested !== undefined);
  return { error, retry: isLater, retryAfter: requested, pauses, status };
}

function adviceFor(status: number, isLater: boolean): string {
  if (status === 401 || status === 403) return 'It does not take our signature or our headers: check the secret.';
  if (status === 404) return 'Check its address.';
  if (status === 410) return 'It is gone for good and wants no more: ask whoever runs it for its new address.';
  if (status === 429) return 'It wants less at once.';
  return isLater ? 'It is in trouble: try again later.' : 'Look there for what it does not like.';
}
