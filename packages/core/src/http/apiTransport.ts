import { ConfigError } from '../errors.js';
import type { AccessBook } from './apiAccess.js';
import type { ApiCredentials } from './credentials.js';
import { readResponse } from './response/readResponse.js';
import { axiosTransport } from './axiosTransport.js';
import { isConditional, sentTag } from './response/entityTag.js';
import type { ExchangeOptions } from './exchange.js';
import { addressOf } from './origin.js';
import { encodeQuery, isSendableQuery } from './query.js';
import { redirectOf } from './redirect.js';
import { encodeRequest } from './requestDetails.js';
import type { Secrets } from './secrets.js';
import type { Transport, TransportResponse } from './transport.js';

interface ApiTransportOptions extends ExchangeOptions {
  readonly secrets: Secrets;
  readonly apis: AccessBook;
}

/** The transport of a client: requests to its APIs, each with that API's credentials, with JSON responses. */
export function apiTransport(options: ApiTransportOptions): Transport {
  const { secrets, apis } = options;
  const call = axiosTransport(options);
  return async (request) => {
    request.signal?.throwIfAborted();
    const { route, signal, format = 'json', parse, responses: meanings, page } = request;
    const { credentials, limiter } = apis.of(request);
    const query = encodeQuery(request.query, request.arrays ?? 'brackets');
    const { origin, pathname } = addressOf(request.baseUrl, request.path);
    const { rawQuery = '' } = request;
    if (!isSendableQuery(rawQuery))
      throw new ConfigError(`${route} can't be sent: its raw query has a character that an address can't have.`, {
        route,
      });
    const whole = [rawQuery, query].filter((part) => part !== '').join('&');
    const url = origin + pathname + (whole === '' ? '' : `?${whole}`);
    const message = encodeRequest(route, request);
    const hasRange = Object.keys(message.headers).some((header) => header.toLowerCase() === 'range');
    const { maxBodyBytes } = options;
    const context = { route, secrets, credentials, format, parse, maxBodyBytes, meanings, page, hasRange };
    const redirects = {
      method: message.method,
      baseUrl: request.baseUrl,
      asked: url,
      withoutSecret: (address: string) => credentials.withoutSecret(address),
      isSecret: (text: string) => secrets.has(text),
    };
    const response = await call({
      route,
      url,
      baseUrl: origin + pathname.slice(0, -request.path.length),
      credentials,
      limiter,
      signal,
      shownUrl: () => secrets.redact(url),
      read: (received, now, from) => {
        const { redirectTo, refusal: redirectRefusal } = redirectOf(received, from, redirects);
        if (redirectTo !== undefined) return { redirectTo };
        const isOfTag = message.method === 'GET' && isConditional(message.headers);
        return readResponse(received, { now, isConditional: isOfTag, redirectRefusal, ...context });
      },
      ...message,
    });
    const shown = withoutCredential(response, credentials);
    return shown.status === 304 ? withTag(shown, sentTag(message.headers)) : shown;
  };
}

/** Servers repeat the whole address in links to other pages. Links of this client must not see a credential there. */
function withoutCredential(response: TransportResponse, credentials: ApiCredentials): TransportResponse {
  const { link } = response.headers;
  if (link === undefined) return response;
  const shown = link.replace(/<([^<>]*)/g, (_, address: string) => `<${credentials.withoutSecret(address)}`);
  return shown === link ? response : { ...response, headers: { ...response.headers, link: shown } };
}

/** Says which tag a 304 is about, if the server omits it: a link may have sent another one than its request had. */
function withTag(response: TransportResponse, tag: string | undefined): TransportResponse {
  return tag === undefined ? response : { ...response, headers: { etag: tag, ...response.headers } };
}
