import { ConfigError } from '../errors.js';
import { readAnswer } from './answer.js';
import { axiosTransport } from './axiosTransport.js';
import { keyHeader, type KeyRing } from './apiKey.js';
import type { ExchangeOptions } from './exchange.js';
import { addressOf } from './origin.js';
import { encodeQuery } from './query.js';
import type { Secrets } from './secrets.js';
import type { Transport, TransportRequest } from './transport.js';

interface ApiTransportOptions extends ExchangeOptions {
  readonly keys: KeyRing;
  readonly secrets: Secrets;
  readonly origins: ReadonlySet<string>;
}

const accept: Readonly<Record<string, string>> = { Accept: 'application/json' };

/** The transport of a client: questions with its key, to its own origins, answered by documents. */
export function apiTransport(options: ApiTransportOptions): Transport {
  const { keys, secrets, origins } = options;
  const call = axiosTransport(options);
  const credentials = keyHeader(keys);
  const placeOf = checkedPlaces(origins);
  return async (request) => {
    request.signal?.throwIfAborted();
    const { route, headers, signal } = request;
    const query = encodeQuery(request.query, request.arrays ?? 'brackets');
    const url = query === '' ? placeOf(request) : `${placeOf(request)}?${query}`;
    return call({
      route,
      method: 'GET',
      url,
      credentials,
      shownUrl: () => secrets.redact(url),
      headers: headers ? { ...accept, ...headers } : accept,
      read: (answer, now) => readAnswer(answer, { route, secrets, now, hasKey: keys.hasKey }),
      signal,
    });
  };
}

/**
 * The place that a request goes to, without its query. A walk asks one place over and over, so the last one is remembered.
 *
 * @throws ConfigError if it is none, or of another origin: a link may send a request elsewhere, but only to another of the client's own.
 */
function checkedPlaces(origins: ReadonlySet<string>): (request: TransportRequest) => string {
  let last: { readonly baseUrl: string; readonly path: string; readonly place: string } | undefined;
  return ({ route, baseUrl, path }) => {
    if (last?.baseUrl === baseUrl && last.path === path) return last.place;
    const { origin, pathname } = addressOf(baseUrl, path, '');
    if (!origins.has(origin))
      throw new ConfigError(
        `${route} must not go to ${origin}: no base address of this client is there, and the API key would go along. Check its links.`,
        { route },
      );
    last = { baseUrl, path, place: origin + pathname };
    return last.place;
  };
}
