import { ConfigError, RequestTimeoutError, SluiceError, systemClock, type Clock } from '@sluice/core';
import { createSender, type HttpEvent, type Sender, type SenderOptions } from '@sluice/core/kit';
import { addressGuard, type AddressGuardOptions } from '@sluice/core/node';
import { checkHeaders, collectSecrets } from './extraHeaders.js';
import { signer, type Signed, type Signer } from './signature.js';
import type { Delivery } from './batches.js';

type Secrets = string | readonly string[];
type Headers = Readonly<Record<string, string>>;

/** Options of the connection to an endpoint. */
export interface EndpointOptions extends Pick<SenderOptions, 'retry' | 'onEvent' | 'clock' | 'random' | 'adapter'> {
  /** The endpoint: https, or an address in `allowAddresses`. Errors and events show only its origin. */
  readonly url: string;
  /**
   * The signing secret: `whsec_` and 16 to 64 bytes in base64; use at least 24. Two during a rotation. A function is
   * called before each attempt, so that a replaced secret is used without a restart. `false` signs nothing: for services
   * that check no signature, since their URL is the secret (Slack).
   */
  readonly secret: Secrets | (() => Secrets) | false;
  /** Extra headers, e.g. `{ authorization: 'Bearer …' }`, or a function, too. Their values are treated as secrets. */
  readonly headers?: Headers | (() => Headers) | undefined;
  /** Ms until a response must arrive, two thirds of it to connect. Default 15,000. */
  readonly timeout?: number | undefined;
  /**
   * How many attempts may start, in any window: `{ requests: 1, per: 1000 }` for one a second, or several limits that all
   * hold. It counts the attempts of all deliveries, also repeated ones, of this sink in this run: a restart begins to count
   * again. A 429 with `Retry-After` pauses all of them besides. Default: `deliveries` is the only limit.
   */
  readonly rateLimit?: SenderOptions['rateLimit'];
  /** Hosts, addresses, CIDRs allowed to be private and without https; metadata addresses need a CIDR. Default: none. */
  readonly allowAddresses?: readonly string[] | undefined;
  /** Resolves a host name. Default: the operating system. */
  readonly resolve?: AddressGuardOptions['resolve'] | undefined;
}

/** The names of these options. */
export const endpointNames = {
  retry: true,
  onEvent: true,
  clock: true,
  random: true,
  adapter: true,
  url: 'text',
  secret: 'text or a list or a function or a boolean',
  headers: true,
  timeout: true,
  rateLimit: true,
  allowAddresses: true,
  resolve: true,
} as const satisfies Readonly<Record<keyof EndpointOptions, string | true>>;

/** A checked endpoint, not connected yet. */
export interface Endpoint {
  readonly url: URL;
  readonly clock: Clock;
  /** @param onEvent is called, too, with the events of its requests. */
  readonly open: (onEvent?: (event: HttpEvent) => void) => OpenEndpoint;
}

/** An endpoint with connections. The caller of `open` closes the sender. */
export interface OpenEndpoint {
  readonly sender: Sender;
  readonly send: Send;
}

/** Resolves when the endpoint has accepted a delivery or refused its content; otherwise it rejects. */
export type Send = (delivery: Delivery, signal: AbortSignal) => Promise<Outcome>;

export interface Outcome {
  readonly attempts: number;
  /** Of the response that accepted it. */
  readonly status?: number;
  /** Absent: accepted. */
  readonly refusal?: SluiceError;
}

const defaultTimeout = 15_000;

/**
 * Checks the options and creates the guard, the signer and the sender.
 *
 * @throws ConfigError if an option is invalid or the URL is not encrypted, ForbiddenAddressError if it leads to this
 * machine or a private network.
 */
export function prepareEndpoint(options: EndpointOptions): Endpoint {
  const { timeout = defaultTimeout, clock = systemClock } = options;
  const { allowAddresses, resolve, retry, rateLimit, onEvent, random, adapter } = options;
  if (!(timeout > 0))
    throw new ConfigError((option = 'timeout') => `${option} is ${timeout}: it must be a number above 0.`, {
      option: 'timeout',
    });
  const url = parsedUrl(options.url);
  const guard = addressGuard({ allow: allowAddresses, resolve });
  guard.checkUrl(url);
  const first = openStamp(options, url);
  const newSender = (alsoOnEvent?: (event: HttpEvent) => void): Sender =>
    createSender({
      retry,
      rateLimit,
      onEvent: (event) => {
        alsoOnEvent?.(event);
        onEvent?.(event);
      },
      random,
      adapter,
      clock,
      url: url.href,
      guard,
      timeouts: { connect: (timeout * 2) / 3, response: timeout, total: Infinity },
      secrets: first.secrets,
    });
  // Invalid options are refused here, not by the first request.
  void newSender().close();
  return {
    url,
    clock,
    open: (alsoOnEvent) => {
      const sender = newSender(alsoOnEvent);
      let stamp = first;
      const headers = (message: Signed): Headers => {
        if (JSON.stringify(readCredentials(options)) !== stamp.given) {
          stamp = openStamp(options, url);
          sender.hide(stamp.secrets);
        }
        return stamp.headers(message);
      };
      return { sender, send: signedSend(sender, clock, headers) };
    },
  };
}

/** The error does not repeat the URL, because it may contain a token. */
function parsedUrl(url: string): URL {
  if (!URL.canParse(url))
    throw new ConfigError('The URL of the webhook is invalid. Give one like https://hooks.example.com/changes.', {
      option: 'url',
    });
  const parsed = new URL(url);
  parsed.hash = '';
  return parsed;
}

/** What is added to attempts as long as the credentials stay the same. */
interface Stamp {
  /** The credentials, for comparison. */
  readonly given: string;
  /** What must not be shown. */
  readonly secrets: readonly string[];
  readonly headers: (message: Signed) => Headers;
}

/** @throws ConfigError if a secret or a header is invalid. */
function openStamp(options: Pick<EndpointOptions, 'secret' | 'headers'>, url: URL): Stamp {
  const { secrets, headers } = readCredentials(options);
  const sign = options.secret === false ? unsigned : signer(secrets);
  checkHeaders(headers);
  return {
    given: JSON.stringify({ secrets, headers }),
    secrets: collectSecrets({ secrets, headers, url }),
    headers: (message) => ({ ...headers, ...sign(message) }),
  };
}

function readCredentials({ secret, headers = {} }: Pick<EndpointOptions, 'secret' | 'headers'>) {
  return {
    secrets: secret === false ? [] : [typeof secret === 'function' ? secret() : secret].flat().map(String),
    headers: typeof headers === 'function' ? headers() : headers,
  };
}

const unsigned: Signer = ({ id }) => ({ 'webhook-id': id });

/**
 * Signs each attempt separately, because a receiver refuses a signature that is minutes old.
 *
 * @param headers those of an attempt, with its signature
 */
export function signedSend(sender: Sender, clock: Clock, headers: (message: Signed) => Headers): Send {
  return async ({ id, body }, signal) => {
    let attempts = 0;
    const signedHeaders = (): Readonly<Record<string, string>> => {
      attempts += 1;
      return headers({ id, timestamp: Math.floor(clock.now() / 1000), body });
    };
    try {
      const { status } = await sender.send({ body, headers: signedHeaders, signal });
      return { attempts, status };
    } catch (error) {
      signal.throwIfAborted();
      if (isRecordFault(error)) return { attempts, refusal: error };
      throw inOwnTerms(error);
    }
  };
}

/** Statuses that blame the content of the record, not the endpoint: another record may be accepted. */
const recordStatuses: readonly unknown[] = [400, 409, 413, 422];

/** Whether a record was refused because of its content. An outage must not turn a million records into dead letters. */
export function isRecordFault(error: unknown): error is SluiceError {
  return SluiceError.is(error, 'http') && blamesRecord(error.details['status']);
}

/** Whether a response with this status refuses the content of the record. */
export function blamesRecord(status: unknown): boolean {
  return recordStatuses.includes(status);
}

/** An endpoint has one `timeout`, from which the sender's `timeouts` are derived. */
function inOwnTerms(error: unknown): unknown {
  if (!SluiceError.is(error, 'timeout')) return error;
  return new RequestTimeoutError(error.summary, {
    details: error.details,
    fault: error.fault,
    cause: error.cause,
    advice: error.advice.map((each) =>
      each.option?.startsWith('timeouts.') ? { kind: 'raise', option: 'timeout' } : each,
    ),
  });
}
