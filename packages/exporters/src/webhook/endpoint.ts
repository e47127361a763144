import { ConfigError, createSender, systemClock, type Clock, type Sender, type SenderOptions } from '@sluice/core';
import { addressGuard, type AddressGuardOptions } from '@sluice/core/node';
import { checkHeaders, secretsIn } from './extraHeaders.js';
import { signer, type Signer } from './signature.js';
import type { DeliveriesOptions } from './deliveries.js';

/** Options that say where records are posted to, and how. */
export interface EndpointOptions extends Pick<SenderOptions, 'retry' | 'onEvent' | 'clock' | 'random' | 'adapter'> {
  /** Where records are posted to: https, or an address that `allowAddresses` names. Shown to nobody beyond its origin. */
  readonly url: string;
  /** What records are signed with: `whsec_` and 16 to 64 bytes in base64, 24 at least if you make it. Two of them while one replaces the other. */
  readonly secret: string | readonly string[];
  /** Sent along, e.g. `{ authorization: 'Bearer …' }`. They are treated as secrets. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Ms for an answer. Default 15,000. */
  readonly timeout?: number;
  /**
   * Addresses that are open although they are not public, and without https: host names, addresses, CIDRs. Default: none. A metadata
   * address needs a CIDR.
   */
  readonly allowAddresses?: readonly string[];
  /** Finds the addresses of a name. Default: the operating system. */
  readonly resolve?: AddressGuardOptions['resolve'];
}

/** Where records are posted to. Nothing is connected yet. */
export interface Endpoint {
  readonly url: URL;
  readonly clock: Clock;
  readonly open: () => OpenEndpoint;
}

/** Connections to an endpoint, and what signs and sends over them. Whoever opened it closes the sender. */
export interface OpenEndpoint {
  readonly sender: Sender;
  readonly send: ReturnType<typeof signedSend>;
}

const defaultTimeout = 15_000;

/**
 * All that sending takes, made in one place: the guard, the signature, the headers, and what must stand in no error.
 *
 * @throws ConfigError if an option makes no sense or the URL is not encrypted, ForbiddenAddressError if it leads to this machine or a
 * private network.
 */
export function endpointOf(options: EndpointOptions): Endpoint {
  const { headers = {}, timeout = defaultTimeout, clock = systemClock } = options;
  const { allowAddresses, resolve } = options;
  const secrets = [options.secret].flat();
  const url = parsedUrl(options.url);
  const guard = addressGuard({ allow: allowAddresses ?? [], ...(resolve && { resolve }) });
  guard.checkUrl(url);
  const sign = signer(secrets);
  checkHeaders(headers);
  const newSender = (): Sender =>
    createSender({
      ...options,
      ...{ url: url.href, guard, timeouts: { response: timeout, total: Infinity } },
      secrets: secretsIn({ secrets, headers, url }),
    });
  // What makes no sense is refused here, and not by the first request.
  void newSender().close();
  return {
    url,
    clock,
    open: () => {
      const sender = newSender();
      return { sender, send: signedSend({ sender, signer: sign, headers, clock }) };
    },
  };
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

export interface SignedSendOptions {
  readonly sender: Sender;
  readonly signer: Signer;
  readonly headers: Readonly<Record<string, string>>;
  readonly clock: Clock;
}

/** Sends what it is given, signed anew for each attempt: a receiver refuses a signature that is minutes old. */
export function signedSend({ sender, signer, headers, clock }: SignedSendOptions): DeliveriesOptions['send'] {
  return async ({ id, body }, signal) => {
    let attempts = 0;
    const stamp = (): Readonly<Record<string, string>> => {
      attempts += 1;
      return { ...headers, ...signer.headers({ id, timestamp: Math.floor(clock.now() / 1000), body }) };
    };
    try {
      await sender.send({ body, headers: stamp, signal });
      return { isTaken: true, attempts };
    } catch (error) {
      signal.throwIfAborted();
      return { isTaken: false, attempts, error };
    }
  };
}
