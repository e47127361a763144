import type { IncomingMessage, ServerResponse } from 'node:http';

/**
 * Allows requests from any origin. Returns whether the request was a preflight, which it has answered.
 *
 * @see https://fetch.spec.whatwg.org/#http-cors-protocol
 */
export function answerCrossOrigin({ method, headers }: IncomingMessage, response: ServerResponse): boolean {
  response.setHeader('access-control-allow-origin', '*');
  // Browsers hide this header from scripts unless it is listed here.
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
