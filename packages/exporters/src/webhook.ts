import {
  checkCount,
  ConfigError,
  createSender,
  systemClock,
  type Clock,
  type HttpEvent,
  type RetryOptions,
  type Sink,
} from '@sluice/core';
import { addressGuard, type AddressGuardOptions } from '@sluice/core/node';
import type { BatchLimits } from './webhook/batches.js';
import { checkHeaders, secretsIn } from './webhook/extraHeaders.js';
import { rowEncoder, type WebhookFormat } from './webhook/outgoing.js';
import { signedSend } from './webhook/signedSend.js';
import { signer } from './webhook/signature.js';
import { WebhookWriter } from './webhook/webhookWriter.js';

/** Options of {@link webhook}. */
export interface WebhookOptions<T> {
  /** Where records are posted to: https, or an address that `allowAddresses` names. Shown to nobody beyond its origin. */
  readonly url: string;
  /** What records are signed with: `whsec_` and 16 to 64 bytes in base64, 24 at least if you make it. Two of them while one replaces the other. */
  readonly secret: string | readonly string[];
  /** Sent along, e.g. `{ authorization: 'Bearer …' }`. They are treated as secrets. */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * So many records in a request, or so many bytes of them (default 512 KiB), in one envelope; a batch ends with its page at the latest.
   * Default: one record a request.
   */
  readonly batch?: number | { readonly count: number; readonly bytes?: number };
  /** Requests under way at once. Default 8. */
  readonly concurrency?: number;
  /** Records of the same key are sent one after another. Default: what names the row, or the changed row. `null`: no order. */
  readonly key?: ((row: T) => string) | null;
  /**
   * Names a row, the same on every run, in 1 to 256 characters. Default: a change's own id; of a row, a hash of its source, key and
   * content. A source whose rows have no key needs it.
   */
  readonly id?: (row: T) => string;
  /** `envelope` (the default): `{ id, type, timestamp, source, sequence, data }`. `bare`: the row as it is, one a request. */
  readonly format?: WebhookFormat;
  /** Ms for an answer. Default 15,000. */
  readonly timeout?: number;
  /** Default: 5 retries with full-jitter back-off from 250 ms to 20 s; a `Retry-After` above 60 s ends the export. */
  readonly retry?: Partial<RetryOptions>;
  /** A file for records that the endpoint refuses for what they are (400, 409, 413, 422). Default: the first one ends the export. */
  readonly deadLetter?: string;
  /** So many of them are accidents; the next one ends the export. Default 100. */
  readonly maxDeadLetters?: number;
  /** What becomes of later records with the key of a dead letter: they go on (default), or are parked with it, so that order is kept. */
  readonly onDead?: 'continue' | 'park';
  /**
   * Addresses that are open although they are not public, and without https: host names, addresses, CIDRs. Default: none. A metadata
   * address needs a CIDR.
   */
  readonly allowAddresses?: readonly string[];
  /** Finds the addresses of a name. Default: the operating system. */
  readonly resolve?: AddressGuardOptions['resolve'];
  /** Told what happens on the wire. */
  readonly onEvent?: (event: HttpEvent) => void;
  /** Default: the machine's clock. */
  readonly clock?: Clock;
  /** A number in [0, 1). Default: `Math.random`. */
  readonly random?: () => number;
}

const defaultBatchBytes = 512 * 1024;
const defaultConcurrency = 8;
const defaultTimeout = 15_000;
const defaultMaxDeadLetters = 100;

/**
 * Posts each row, or each change of a watch, to an endpoint, signed as Standard Webhooks says: at least once.
 *
 * A page is durable in a spool before its first record is sent. After a crash it is sent again from there, with the same ids and the
 * same bytes, whatever the API says by then; so give the export `state`. A receiver that remembers ids takes each record once.
 *
 * Records that the endpoint refuses for what they are become dead letters. Whatever else it says ends the export, which goes on there
 * when it is run again: an outage loses nothing.
 *
 * @see https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 * @example
 * const changes = client.streams.watch({ every: 30_000, state });
 * await exportTo(changes, webhook({ url, secret, deadLetter: 'dead.jsonl' }), { state }).run();
 *
 * @throws ConfigError if an option makes no sense or the URL is not encrypted, ForbiddenAddressError if it leads to this machine or a
 * private network. Later: HttpError, RateLimitError, NetworkError or RequestTimeoutError when the endpoint takes nothing more, SinkError
 * when there are too many dead letters, or none may be written.
 */
export function webhook<T extends object>(options: WebhookOptions<T>): Sink<T> {
  const { url, deadLetter, key, id, format = 'envelope', onDead = 'continue', clock = systemClock } = options;
  const { concurrency = defaultConcurrency, maxDeadLetters = defaultMaxDeadLetters, headers = {} } = options;
  const { timeout = defaultTimeout, retry, random, onEvent, resolve } = options;
  const secrets = [options.secret].flat();
  const batch = batchLimits(options.batch);
  checkCount('concurrency', concurrency);
  checkCount('maxDeadLetters', maxDeadLetters, { least: 0 });
  if (format === 'bare' && batch)
    throw new ConfigError('A batch needs envelopes, since each of its records has an id: leave format or batch out.', {
      option: 'batch',
    });
  const parsed = parsedUrl(url);
  const guard = addressGuard({ allow: options.allowAddresses ?? [], ...(resolve && { resolve }) });
  guard.checkUrl(parsed);
  const sign = signer(secrets);
  checkHeaders(headers);
  const encoderOf = ({ source, schema }: Parameters<Sink<T>['open']>[0]) =>
    rowEncoder<T>(source, schema, { key, id, format });
  const newSender = () =>
    createSender({
      ...{ url: parsed.href, guard, clock, timeouts: { response: timeout } },
      secrets: secretsIn({ secrets, headers, url: parsed }),
      ...(retry && { retry }),
      ...(random && { random }),
      ...(onEvent && { onEvent }),
    });
  // What makes no sense is refused here, and not by the first export.
  void newSender().close();
  return {
    name: 'webhook',
    identity: { endpoint: parsed.origin + parsed.pathname, format },
    target: parsed.href,
    promises: 'at-least-once',
    check: (context) => Promise.resolve(void encoderOf(context)),
    open(context) {
      const encode = encoderOf(context);
      const sender = newSender();
      return WebhookWriter.open(context, {
        ...{ encode, sender, concurrency, batch, onDead, deadLetter, maxDeadLetters, clock },
        send: signedSend({ sender, signer: sign, headers, clock }),
        target: parsed.origin,
      });
    },
  };
}

function batchLimits(batch: WebhookOptions<never>['batch']): BatchLimits | undefined {
  if (batch === undefined) return undefined;
  const { count, bytes = defaultBatchBytes } = typeof batch === 'number' ? { count: batch } : batch;
  checkCount('batch.count', count);
  checkCount('batch.bytes', bytes);
  return { count, bytes };
}

/** The address is not repeated: a token may stand in it. */
function parsedUrl(url: string): URL {
  if (!URL.canParse(url))
    throw new ConfigError('The URL of the webhook is none. Give one like https://hooks.example.com/changes.', {
      option: 'url',
    });
  const parsed = new URL(url);
  parsed.hash = '';
  return parsed;
}
