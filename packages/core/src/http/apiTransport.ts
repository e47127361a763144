import { ConfigError } from '../errors.js';
import { readAnswer } from './answer.js';
import { axiosTransport } from './axiosTransport.js';
import { keyHeader, type KeyRing } from './apiKey.js';
import type { ExchangeOptions } from './exchange.js';
import { addressOf } from './origin.js';
import { encodeQuery } from './query.js';
import { encodeRequest } from './requestDetails.js';
import type { Secrets } from './secrets.js';
import type { Transport, TransportRequest } from './transport.js';

interface ApiTransportOptions extends ExchangeOptions {
  readonly keys: KeyRing;
  readonly secrets: Secrets;
  readonly origins: ReadonlySet<string>;
}

/** The transport of a client: requests with its key, only to its own origins, with JSON responses. */
export function apiTransport(options: ApiTransportOptions): Transport {
  const { keys, secrets, origins } = options;
  const call = axiosTransport(options);
  const credentials = keyHeader(keys);
  const urlOf = urlChecker(origins);
  return async (request) => {
    request.signal?.throwIfAborted();
    const { route, signal, format = 'json', errors } = request;
    const query = encodeQuery(request.query, request.arrays ?? 'brackets');
    const target = query === '' ? urlOf(request) : `${urlOf(request)}?${query}`;
    const message = encodeRequest(route, request);
    const mayBeEmpty = message.method !== 'GET';
    return call({
      ...{ route, url: target, credentials, signal, ...message },
      shownUrl: () => secrets.redact(target),
      read: (answer, now) =>
        readAnswer(answer, { route, secrets, now, hasKey: keys.hasKey, format, errors, mayBeEmpty }),
    });
  };
}

/**
 * The URL of a request without its query. The last one is cached, since a walk requests the same URL repeatedly.
 *
 * @throws ConfigError if it is invalid, or its origin is not one of the client's: a link may redirect a request, but
 * only among these.
 */
function urlChecker(origins: ReadonlySet<string>): (request: TransportRequest) => string {
  let last: { readonly baseUrl: string; readonly path: string; readonly url: string } | undefined;
  return ({ route, baseUrl, path }) => {
    if (last?.baseUrl === baseUrl && last.path === path) return last.url;
    const { origin, pathname } = addressOf(baseUrl, path, '');
    if (!origins.has(origin))
      throw new ConfigError(
        `${route} must not go to ${origin}: this client has no base URL there, and the request would carry the API key. Check its links.`,
        { route },
      );
    last = { baseUrl, path, url: origin + pathname };
    return last.url;
  };
}
