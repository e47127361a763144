import type { Harm } from './body.js';
import type { SentAnswer } from './hostileServer.js';

/** How bytes become a response. */
export const framings = [
  'length',
  'chunked',
  'odd chunks',
  'close',
  'http/1.0',
  'short',
  'long',
  'chunks cut',
  'bad chunk',
  'length is no number',
  'length twice',
  'lengths differ',
  'length and chunks',
  'reset',
  'nothing',
  'packed transfer',
] as const;

export type Framing = (typeof framings)[number];

/** Everything around a body. */
interface HeadedBody {
  readonly line: string;
  readonly before: readonly string[];
  readonly headers: readonly { readonly text: string }[];
  readonly framing: Framing;
  readonly harm: Harm;
}

/** The body that arrives by the rules of HTTP; a word if none can. */
export type Arrival = Buffer | 'cut' | 'refused';

/** A response with a body, byte for byte, and what arrives of it. */
export function framed(
  how: HeadedBody,
  label: string | undefined,
  body: Buffer,
): { bytes: Buffer; then: SentAnswer['then']; arrives: readonly Arrival[] } {
  const top = [
    ...how.before,
    how.framing === 'http/1.0' ? how.line.replace('HTTP/1.1', 'HTTP/1.0') : how.line,
    ...(label === undefined ? [] : [`Content-Encoding: ${label}`]),
    ...how.headers.map(({ text }) => text),
  ];
  const head = (...more: string[]): Buffer => Buffer.from(`${[...top, ...more].join('\r\n')}\r\n\r\n`, 'latin1');
  const chunk = (partition: Buffer, extension = ''): Buffer[] =>
    partition.length === 0
      ? []
      : [Buffer.from(`${partition.length.toString(16)}${extension}\r\n`), partition, Buffer.from('\r\n')];
  const end = Buffer.from('0\r\n\r\n');
  const half = Math.ceil(body.length / 2);
  const whole = (...pieces: Buffer[]): Buffer => Buffer.concat(pieces);
  const length = `Content-Length: ${body.length}`;
  const chunked = 'Transfer-Encoding: chunked';
  // Compressed data that has ended is complete, whatever follows it.
  const hasMoreBehind = ['trail-zeros', 'trail-text', 'twice', 'again'].includes(how.harm.kind);
  const cut: Arrival[] = hasMoreBehind ? ['cut', body] : ['cut'];
  switch (how.framing) {
    case 'length':
      return { bytes: whole(head(length), body), then: 'keep', arrives: [body] };
    case 'chunked':
      return {
        bytes: whole(head(chunked), ...chunk(body.subarray(0, half)), ...chunk(body.subarray(half)), end),
        then: 'keep',
        arrives: [body],
      };
    case 'odd chunks': {
      const odd = Array.from({ length: Math.min(body.length, 50) }, (_, at) =>
        chunk(body.subarray(at, at + 1), ';x="y";__proto__=1'),
      ).flat();
      const trailers = Buffer.from('0\r\n__proto__: x\r\nConstructor: y\r\nContent-Length: 5\r\n\r\n');
      return {
        bytes: whole(head('transfer-encoding: Chunked'), ...odd, ...chunk(body.subarray(50)), trailers),
        then: 'keep',
        arrives: [body, 'cut', 'refused'],
      };
    }
    case 'close':
      return { bytes: whole(head('Connection: close'), body), then: 'end', arrives: [body] };
    case 'http/1.0':
      return { bytes: whole(head(), body), then: 'end', arrives: [body] };
    case 'short':
      return { bytes: whole(head(`Content-Length: ${body.length + 10}`), body), then: 'end', arrives: cut };
    case 'long':
      return {
        bytes: whole(head(`Content-Length: ${half}`), body),
        then: 'keep',
        arrives: [body.subarray(0, half), 'cut', 'refused'],
      };
    case 'chunks cut':
      return { bytes: whole(head(chunked), ...chunk(body)), then: 'end', arrives: cut };
    case 'bad chunk':
      return {
        bytes: whole(head(chunked), ...chunk(body.subarray(0, half)), Buffer.from('XYZ\r\n'), body, end),
        then: 'end',
        arrives: [...cut, 'refused'],
      };
    case 'length is no number':
      return { bytes: whole(head(`Content-Length: ${body.length}x`), body), then: 'end', arrives: ['refused', 'cut'] };
    case 'length twice':
      return { bytes: whole(head(length, length), body), then: 'end', arrives: [body, 'refused', 'cut'] };
    case 'lengths differ':
      return {
        bytes: whole(head(length, `Content-Length: ${body.length + 1}`), body),
        then: 'end',
        arrives: ['refused', 'cut'],
      };
    case 'length and chunks':
      return {
        bytes: whole(head(length, chunked), ...chunk(body), end),
        then: 'end',
        arrives: [body, 'refused', 'cut'],
      };
    case 'reset':
      return {
        bytes: whole(head(`Content-Length: ${body.length + 10}`), body),
        then: 'reset',
        arrives: [...cut, 'refused'],
      };
    case 'nothing':
      return { bytes: Buffer.alloc(0), then: 'end', arrives: ['refused'] };
    case 'packed transfer':
      return { bytes: whole(head('Transfer-Encoding: gzip'), body), then: 'end', arrives: [body, 'refused', 'cut'] };
  }
}

/** The bytes in pieces of this size. */
export function inPieces(bytes: Buffer, pace: number): readonly Uint8Array[] {
  // It must not take forever, however small the pieces are.
  const size = pace === 0 ? bytes.length : Math.max(pace, Math.ceil(bytes.length / 50));
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += size) pieces.push(bytes.subarray(at, at + size));
  return pieces;
}
