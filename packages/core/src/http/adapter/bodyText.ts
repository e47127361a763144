import { AdapterFault } from './adapter.js';

/**
 * The text of a complete body, without a byte order mark. That mark says what the bytes are, otherwise the charset of the
 * `Content-Type` does; without both they are UTF-8, as JSON has to be (RFC 8259, 8.1). Bytes that are valid UTF-8 are UTF-8
 * also where ISO-8859-1 is declared: that is the default of many servers, and no text of it is valid UTF-8 by accident.
 *
 * @param readUtf8 the text of bytes without their byte order mark, unless they are not UTF-8. Default: by a `TextDecoder`.
 * @throws AdapterFault if the charset is not known, or the bytes are not text in it.
 */
export function bodyText<Bytes extends Uint8Array>(
  bytes: Bytes,
  headers: Readonly<Record<string, string>>,
  readUtf8: (bytes: Bytes) => string | undefined = decodeUtf8,
): string {
  const declared = declaredCharset(headers['content-type']);
  const charset = markedCharset(bytes) ?? declared ?? 'utf-8';
  const decoder = openDecoder(charset);
  if (!decoder) throw new AdapterFault('charset', charset);
  if (decoder.encoding === 'windows-1252') return readUtf8(bytes) ?? decodeWindows1252(decoder, bytes);
  const text = decoder.encoding === 'utf-8' ? readUtf8(bytes) : decode(decoder, bytes);
  if (text !== undefined) return text;
  // Half a character at the end is all that is wrong.
  if (decode(new TextDecoder(charset, { fatal: true }), bytes, { stream: true }) !== undefined)
    throw new AdapterFault('cut-body');
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && !/^(identity|utf-?8)?$/i.test(encoding.trim()))
    throw new AdapterFault('encoding', encoding);
  throw new AdapterFault('not-text', charset);
}

/** The text of an error's body: with replacement characters, if it has no other. */
export function errorText(bytes: Uint8Array, headers: Readonly<Record<string, string>>): string {
  try {
    return bodyText(bytes, headers);
  } catch {
    return new TextDecoder().decode(bytes);
  }
}

/** Whether a body is a gzip file (RFC 1952, 2.3.1): no text begins with these bytes. */
export function isGzipFile([first, second]: Uint8Array): boolean {
  return first === 0x1f && second === 0x8b;
}

function declaredCharset(contentType = ''): string | undefined {
  const [, charset] = /;\s*charset\s*=\s*["']?([^\s;,"']+)/i.exec(contentType) ?? [];
  // Servers name it after their database.
  return charset !== undefined && /^utf[-_]?8/i.test(charset) ? 'utf-8' : charset;
}

/** UTF-16 by its byte order mark. That of UTF-8 needs no look: what has it is valid UTF-8, or nothing. */
function markedCharset([first, second]: Uint8Array): string | undefined {
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  return first === 0xfe && second === 0xff ? 'utf-16be' : undefined;
}

function decodeUtf8(bytes: Uint8Array): string | undefined {
  return decode(new TextDecoder('utf-8', { fatal: true }), bytes);
}

function openDecoder(charset: string): TextDecoder | undefined {
  try {
    return new TextDecoder(charset, { fatal: true });
  } catch {
    return undefined;
  }
}

function decode(decoder: TextDecoder, bytes: Uint8Array, options?: TextDecodeOptions): string | undefined {
  try {
    return decoder.decode(bytes, options);
  } catch {
    return undefined;
  }
}

/** The characters of the bytes 0x80 to 0x9F; those that have none stay control characters. */
const windows1252 = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ';

/** Node.js 20 decodes it as ISO-8859-1, so that `€` would become a control character. */
function decodeWindows1252(decoder: TextDecoder, bytes: Uint8Array): string {
  return decoder.decode(bytes).replace(/[\x80-\x9f]/g, (char) => windows1252[char.charCodeAt(0) - 0x80] ?? char);
}
