import {
  brotliCompressSync,
  brotliDecompressSync,
  deflateRawSync,
  deflateSync,
  gunzipSync,
  gzipSync,
  inflateSync,
} from 'node:zlib';

/** How a text becomes bytes. */
export type Charset = (typeof charsets)[number];
/** How bytes are compressed, and how that is declared. */
export type Packing = keyof typeof packings;

/** What can happen to compressed bytes on their way. */
export const harmKinds = ['cut', 'flip', 'trail-zeros', 'trail-text', 'twice', 'again', 'empty'] as const;

/** What happens to them. */
export interface Harm {
  readonly kind: 'none' | (typeof harmKinds)[number];
  /** A fraction of the bytes. */
  readonly at: number;
}

export const charsets = [
  'utf-8',
  'utf-8 with bom',
  'utf-16le',
  'utf-16le with bom',
  'utf-16be with bom',
  'utf-32le',
  'latin1',
  'invalid bytes',
  'overlong',
  'surrogates as bytes',
] as const;

export const packings = {
  plain: { label: undefined, pack: (bytes: Buffer) => bytes },
  gzip: { label: 'gzip', pack: (bytes: Buffer) => gzipSync(bytes, { level: 1 }) },
  'x-gzip': { label: 'X-GZip', pack: (bytes: Buffer) => gzipSync(bytes, { level: 1 }) },
  deflate: { label: 'deflate', pack: (bytes: Buffer) => deflateSync(bytes, { level: 1 }) },
  'raw deflate': { label: 'deflate', pack: (bytes: Buffer) => deflateRawSync(bytes, { level: 1 }) },
  br: { label: 'br', pack: (bytes: Buffer) => brotliCompressSync(bytes, { params: { 1: 1 } }) },
  'gzip twice': { label: 'gzip, gzip', pack: (bytes: Buffer) => gzipSync(gzipSync(bytes)) },
  'gzip as br': { label: 'br', pack: (bytes: Buffer) => gzipSync(bytes) },
  'plain as gzip': { label: 'gzip', pack: (bytes: Buffer) => bytes },
  'gzip as plain': { label: undefined, pack: (bytes: Buffer) => gzipSync(bytes) },
  zstd: { label: 'zstd', pack: (bytes: Buffer) => Buffer.concat([Buffer.from([0x28, 0xb5, 0x2f, 0xfd]), bytes]) },
  unknown: { label: '__proto__', pack: (bytes: Buffer) => bytes },
  identity: { label: 'identity', pack: (bytes: Buffer) => bytes },
} as const;

/** The maximum size of a response body after decompression, in bytes. */
const maxBytes = 32 * 1024 * 1024;

/** The bytes of a text, encoded, compressed and damaged. */
export function bodyOf(
  text: string,
  how: { readonly charset: Charset; readonly packing: Packing; readonly harm: Harm },
): Buffer {
  return harmed(packings[how.packing].pack(encoded(text, how.charset)), how.harm);
}

function encoded(text: string, charset: Charset): Buffer {
  switch (charset) {
    case 'utf-8':
      return Buffer.from(text, 'utf8');
    case 'utf-8 with bom':
      return Buffer.from(`\ufeff${text}`, 'utf8');
    case 'utf-16le':
      return Buffer.from(text, 'utf16le');
    case 'utf-16le with bom':
      return Buffer.from(`\ufeff${text}`, 'utf16le');
    case 'utf-16be with bom':
      return Buffer.from(`\ufeff${text}`, 'utf16le').swap16();
    case 'utf-32le':
      return Buffer.concat([...text].map((character) => Buffer.from(Uint32Array.of(character.codePointAt(0)!).buffer)));
    case 'latin1':
      return Buffer.from(text, 'latin1');
    case 'invalid bytes':
      return spliced(text, [0xff, 0xfe]);
    case 'overlong':
      return spliced(text, [0xc0, 0xaf]);
    case 'surrogates as bytes':
      return spliced(text, [0xed, 0xa0, 0x80]);
  }
}

/** Bytes in the middle of a text. */
function spliced(text: string, bytes: readonly number[]): Buffer {
  const all = Buffer.from(text, 'utf8');
  const at = text.indexOf('"') + 1;
  return Buffer.concat([all.subarray(0, at), Buffer.from(bytes), all.subarray(at)]);
}

function harmed(bytes: Buffer, { kind, at }: Harm): Buffer {
  const place = Math.floor(at * bytes.length);
  switch (kind) {
    case 'none':
      return bytes;
    case 'cut':
      return bytes.subarray(0, place);
    case 'flip':
      return Buffer.from(bytes.map((byte, index) => (index === place ? byte ^ (1 << (place % 8)) : byte)));
    case 'trail-zeros':
      return Buffer.concat([bytes, Buffer.alloc(1 + place)]);
    case 'trail-text':
      return Buffer.concat([bytes, Buffer.from('{"result":[]}')]);
    case 'twice':
      return Buffer.concat([bytes, bytes]);
    case 'again':
      // An empty member after it, as some compressors append.
      return Buffer.concat([bytes, gzipSync('')]);
    case 'empty':
      return Buffer.alloc(0);
  }
}

/** The supported encodings. What was compressed twice is a gzip file after that. */
const unpackers = new Map([
  ['gzip', gunzipSync],
  ['gzip, gzip', gunzipSync],
  ['x-gzip', gunzipSync],
  ['deflate', inflateSync],
  ['br', brotliDecompressSync],
]);

/** The text of a body, whose charset is declared or not; the code of the error if it has none. */
export function readAs(
  label: string | undefined,
  body: Buffer,
  charset = 'utf-8',
): { readonly text: string } | { readonly code: 'decode' | 'response-too-large' } {
  const unpack = unpackers.get(label?.toLowerCase() ?? '');
  const options = { maxOutputLength: maxBytes + 1 };
  let plain: Buffer;
  try {
    // An empty body is valid under any declaration.
    plain = unpack && body.length > 0 ? unpack(body, options) : body;
    if (plain.length <= maxBytes && plain[0] === 0x1f && plain[1] === 0x8b) plain = gunzipSync(plain, options);
  } catch (error) {
    const isTooLarge = error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';
    return { code: isTooLarge ? 'response-too-large' : 'decode' };
  }
  if (plain.length > maxBytes) return { code: 'response-too-large' };
  const mark = plain.subarray(0, 2).toString('hex');
  const charsets = mark === 'fffe' ? ['utf-16le'] : mark === 'feff' ? ['utf-16be'] : [charset];
  if (charsets[0] === 'latin1') charsets.unshift('utf-8');
  for (const each of charsets) {
    const text = decoded(each, plain);
    if (text !== undefined) return { text };
  }
  return { code: 'decode' };
}

/** Windows-1252, by which latin1 is read (WHATWG Encoding, 4.2), from 0x80 to 0x9f: Node 20 reads these as controls. */
const windows1252 = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ';

function decoded(charset: string, bytes: Buffer): string | undefined {
  if (charset === 'latin1')
    return bytes.toString('latin1').replace(/[\x80-\x9f]/g, (char) => windows1252[char.charCodeAt(0) - 0x80] ?? char);
  try {
    return new TextDecoder(charset, { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
