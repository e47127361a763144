import fc from 'fast-check';
import { hostileKey } from '../../packages/core/test/hostile/hostileKey.js';
import { charsets, packings, type Charset, type Harm, type Packing } from './body.js';
import { framings, type Framing } from './framing.js';

/** How a document goes over the wire: everything that a server decides besides what it says. */
export interface Wire {
  readonly line: string;
  /** The status that the line says, if it says one that can be read. */
  readonly status: number | undefined;
  /** Answers before the answer (1xx). */
  readonly before: readonly string[];
  readonly headers: readonly Header[];
  readonly charset: Charset;
  readonly packing: Packing;
  readonly harm: Harm;
  readonly framing: Framing;
  /** Bytes of each piece that is written; all of it at once where it is 0. */
  readonly pace: number;
}

/** Header lines. */
export interface Header {
  readonly text: string;
  /** Whether a parser of HTTP may refuse it. */
  readonly isDoubtful: boolean;
}

const okLines = [
  'HTTP/1.1 200 OK',
  'HTTP/1.1 200 ',
  'HTTP/1.1 200',
  'HTTP/1.1 200 \u00e9\u00ff',
  `HTTP/1.1 200 ${'x'.repeat(2_000)}`,
];
const statuses = [
  200, 201, 203, 204, 205, 206, 226, 299, 300, 301, 302, 304, 307, 308, 399, 400, 401, 403, 404, 408, 409, 410, 418,
  422, 425, 429, 431, 451, 499, 500, 501, 502, 503, 504, 505, 520, 524, 599, 600, 700, 999,
];
const badLines = [
  'HTTP/1.1 000 OK',
  'HTTP/1.1 099 OK',
  'HTTP/1.1 20 OK',
  'HTTP/1.1 2000 OK',
  'HTTP/1.1 -1 OK',
  'HTTP/1.1 abc OK',
  'HTTP/1.1',
  'HTTP/9.9 200 OK',
  'HTTP/1.1  200 OK',
  ' HTTP/1.1 200 OK',
  'http/1.1 200 ok',
  'ICY 200 OK',
  '200 OK',
  '',
  '\0',
  '{"result":[]}',
  'HTTP/1.1 100 Continue',
  'HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: upgrade',
  'PRI * HTTP/2.0\r\n\r\nSM',
];

const key = encodeURIComponent(hostileKey);
const headers: readonly Header[] = [
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
    `X-Long: ${'x'.repeat(8_000)}`,
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

const harms: fc.Arbitrary<Harm> = fc.record({
  kind: fc.constantFrom('cut', 'flip', 'trail-zeros', 'trail-text', 'twice', 'again', 'empty'),
  at: fc.double({ min: 0, max: 1, noNaN: true }),
});

/** Mostly as it should be, and odd in one way or two. */
export const wire: fc.Arbitrary<Wire> = fc
  .record({
    status: fc.oneof(
      { weight: 5, arbitrary: fc.constant(200) },
      { weight: 2, arbitrary: fc.constantFrom(...statuses) },
    ),
    okLine: fc.constantFrom(...okLines),
    badLine: rarely(undefined, fc.constantFrom(...badLines), 30),
    before: rarely(
      [],
      fc.array(
        fc.constantFrom('HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n', 'HTTP/1.1 102 Processing\r\n__proto__: x\r\n'),
        { maxLength: 20 },
      ),
      20,
    ),
    headers: rarely([], fc.array(fc.constantFrom(...headers), { minLength: 1, maxLength: 3 }), 2),
    charset: rarely<Charset>('utf-8', fc.constantFrom(...charsets), 6),
    packing: rarely<Packing>('plain', fc.constantFrom(...namesOf(packings)), 2),
    harm: rarely<Harm>({ kind: 'none', at: 0 }, harms, 6),
    framing: rarely<Framing>('length', fc.constantFrom(...framings), 2),
    pace: rarely(0, fc.constantFrom(1_000, 100), 8),
  })
  .map(({ status, okLine, badLine, ...rest }) => ({
    line: badLine ?? (status === 200 ? okLine : `HTTP/1.1 ${status} X`),
    status: badLine === undefined ? status : undefined,
    ...rest,
  }));

/** As it should be. */
export const plainWire: Wire = {
  ...{ line: 'HTTP/1.1 200 OK', status: 200, before: [], headers: [], charset: 'utf-8', packing: 'plain' },
  ...{ harm: { kind: 'none', at: 0 }, framing: 'length', pace: 0 },
};

/** Once in `times`, something else. */
function rarely<T>(usual: T, other: fc.Arbitrary<T>, times: number): fc.Arbitrary<T> {
  return fc.oneof({ weight: times - 1, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: other });
}

function namesOf<T extends object>(record: T): (keyof T)[] {
  return Object.keys(record) as (keyof T)[];
}
