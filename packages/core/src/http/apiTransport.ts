import { ConfigError } from '../errors.js';
import { readAnswer } from './answer.js';
import type { KeyRing } from './apiKey.js';
import { axiosTransport } from './axiosTransport.js';
import { keyHeader } from './credentials.js';
import type { ExchangeOptions } from './exchange.js';
import { addressOf } from './origin.js';
import { encodeQuery } from './query.js';
import type { Secrets } from './secrets.js';
import type { Transport, TransportRequest } from './transport.js';

/** What the requests of a client share. */
export interface ApiTransportOptions extends ExchangeOptions {
  readonly keys: KeyRing;
  readonly secrets: Secrets;
  /** Where the key may go. */
  readonly origins: ReadonlySet<string>;
}

/** The transport of a client: questions with its key, to its own origins, answered by documents. */
export function apiTransport(options: ApiTransportOptions): Transport {
  const { keys, secrets, origins } = options;
  const call = axiosTransport(options);
  const credentials = keyHeader(keys);
  return async (request) => {
    request.signal?.throwIfAborted();
    const { route, headers, signal } = request;
    const url = checkedAddress(request, origins).href;
    return call({
      ...{ route, method: 'GET', url, credentials, shownUrl: () => secrets.redact(url) },
      headers: { Accept: 'application/json', ...headers },
      read: (answer, now) => readAnswer(answer, { route, secrets, now, hasKey: keys.hasKey }),
      ...(signal && { signal }),
    });
  };
}

/** A link may send a request elsewhere, but only to another of the client's own origins. */
function checkedAddress(request: TransportRequest, origins: ReadonlySet<string>): URL {
  const query = encodeQuery(request.query, request.arrays ?? 'brackets');
  const address = addressOf(request.baseUrl, request.path, query);
  if (origins.has(address.origin)) return address;
  throw new ConfigError(
    `${request.route} must not go to ${address.origin}: no base address of this client is there, and the API key would go along. Check its links.`,
    { route: request.route },
  );
}
