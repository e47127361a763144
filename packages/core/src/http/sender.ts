import { createAdapter } from '#adapter';
import { systemClock, type Clock } from '../clock.js';
import type { AddressGuard } from './adapter/adapter.js';
import { axiosTransport } from './axiosTransport.js';
import type { HttpEvent } from './events.js';
import type { Timeouts } from './exchange.js';
import { patienceOf } from './patience.js';
import { readReceipt } from './receipt.js';
import type { RetryOptions } from './retryPolicy.js';
import { Secrets } from './secrets.js';
import { unlimited } from './unlimited.js';

/** Options of {@link createSender}. */
export interface SenderOptions {
  /** Where everything goes. It is never shown beyond its origin, since a token may stand in it. */
  readonly url: string;
  /** Refuses addresses; also turns off the proxies of the environment. */
  readonly guard?: AddressGuard;
  /** Texts that must not stand in any error: signing secrets, tokens in headers. */
  readonly secrets?: readonly string[];
  /** Deadlines in ms. Default: 10,000 to connect, 30,000 for an answer, 180,000 with retries, or more where `retry.for` wants more; pauses don't count. `Infinity` sets none. */
  readonly timeouts?: Partial<Timeouts>;
  /** Default: a fault that may pass is tried for a minute, with full-jitter back-off from 250 ms to 20 s; a `Retry-After` above 60 s is an error. */
  readonly retry?: Partial<RetryOptions>;
  /** Told what happens on the wire. */
  readonly onEvent?: (event: HttpEvent) => void;
  readonly clock?: Clock;
  /** A number in [0, 1). */
  readonly random?: () => number;
}

/** Something to send. */
export interface Message {
  readonly body: string;
  /** The headers of one attempt, asked for again before each: a signature holds the time. */
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
  /** Ms for which nothing is sent, since the endpoint asked for it. */
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
  const { timeouts, retry } = patienceOf(options);
  const secrets = new Secrets();
  for (const secret of options.secrets ?? []) secrets.add(secret);
  const limiter = unlimited(clock);
  const closing = new AbortController();
  const adapter = createAdapter({
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
      const { status, attempts } = await call({
        ...{ route: name, method: 'POST', url, body, signal, shownUrl: () => origin },
        headers: { 'Content-Type': 'application/json', 'User-Agent': 'sluice' },
        credentials: { prepare: () => Promise.resolve(headers), renew: () => Promise.resolve(false) },
        read: (answer, now) => readReceipt(answer, { route: name, secrets, now }),
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
