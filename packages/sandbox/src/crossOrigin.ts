import type { IncomingMessage, ServerResponse } from 'node:http';

/**
 * Lets pages of any origin ask, and says whether the request was a preflight, which is answered with that.
 *
 * A preflight is the browser's own question, put before each request that carries `X-API-Key`. See the
 * [CORS protocol](https://fetch.spec.whatwg.org/#http-cors-protocol).
 */
export function answerCrossOrigin({ method, headers }: IncomingMessage, response: ServerResponse): boolean {
  response.setHeader('access-control-allow-origin', '*');
  // A page sees no header but the plainest ones, unless it is named here.
  response.setHeader('access-control-expose-headers', 'retry-after');
  if (method !== 'OPTIONS' || headers['access-control-request-method'] === undefined) return false;
  response.writeHead(204, {
    'access-control-allow-methods': 'GET',
    'access-control-allow-headers': 'x-api-key',
    'access-control-max-age': '600',
  });
  response.end();
  return true;
}
