import { hostileKey } from './keyTraces.js';

/** Header lines. */
export interface Header {
  readonly text: string;
  /** Whether an HTTP parser may refuse it. */
  readonly isDoubtful: boolean;
}

const key = encodeURIComponent(hostileKey);
/** Headers that no response should need. */
export const oddHeaders: readonly Header[] = [
  ...[
    '__proto__: x',
    '__proto__: a\r\n__proto__: b',
    'constructor: x',
    'toString: x',
    'hasOwnProperty: x',
    'then: x',
    'length: 1',
    'Set-Cookie: a=1\r\nSet-Cookie: b=2\r\nset-cookie: c=3',
    'Content-Type: text/html',
    'Content-Type: application/json; charset=utf-16',
    'Content-Type: application/json; charset=latin1',
    'Content-Type: ',
    'Content-Type: a\r\nContent-Type: b',
    'ETag: "x"',
    'Link: <x>; rel=next',
    'Retry-After: 0',
    'Retry-After: -1',
    'Retry-After: 1000000000',
    `Retry-After: ${'9'.repeat(400)}`,
    'Retry-After: soon',
    'Retry-After: 1e9',
    'Retry-After: Wed, 21 Oct 2015 07:28:00 GMT',
    'Retry-After: Fri, 31 Dec 9999 23:59:59 GMT',
    'Retry-After: 0.001',
    'Retry-After: 1, 2',
    'Date: Thu, 01 Jan 1970 00:00:00 GMT',
    'Date: x',
    'Location: /elsewhere',
    'Location: https://elsewhere.example/',
    'Location: http://[',
    `Location: https://elsewhere.example/?key=${key}`,
    `Location: https://${btoa(hostileKey)}.example/`,
    'Location: javascript:alert(1)',
    `X-Key: ${hostileKey}`,
    'Keep-Alive: timeout=0',
    'Keep-Alive: timeout=99999999999999999999',
    'Keep-Alive: timeout=-1, max=x',
    'Alt-Svc: h3=":443"',
    'Trailer: __proto__',
    'Vary: *',
    // Three of them and the longest status line fit into the 16 kB that Node takes.
    `X-Long: ${'x'.repeat(4_000)}`,
    'X-Bytes: \u00ff\u00fe',
    'X-Empty:',
  ].map((text) => ({ text, isDoubtful: false })),
  ...[
    `X-Huge: ${'x'.repeat(40_000)}`,
    Array.from({ length: 3_000 }, (_, nth) => `X-${nth}: x`).join('\r\n'),
    'no colon',
    ': no name',
    'X-Nul: a\0b',
    'X Space: x',
    'X-Space : x',
    'X-Fold: a\r\n b',
    'Connection: upgrade\r\nUpgrade: h2c',
    'Connection: close',
    'é: x',
    'Transfer-Encoding: identity',
    'Content-Range: bytes 0-1/2',
    'X-Bare: a\rb',
    'X-Line: a\nX-Next: b',
    'Proxy-Connection: close',
  ].map((text) => ({ text, isDoubtful: true })),
];
