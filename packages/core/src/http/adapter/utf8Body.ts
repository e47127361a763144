import { isAscii, transcode } from 'node:buffer';
import type { ResponseBody } from './adapter.js';

/** A body of valid UTF-8. Usually only its JSON is read, so its text is made on demand. */
export class Utf8Body implements ResponseBody {
  readonly #bytes: Buffer;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get text(): string {
    return utf8Text(this.#bytes);
  }

  get json(): string {
    return jsonText(this.#bytes);
  }
}

/** The text of valid UTF-8, faster than `toString()`: ASCII is copied, `transcode` converts in blocks. */
export function utf8Text(bytes: Buffer): string {
  return isAscii(bytes) ? bytes.toString('latin1') : transcode(bytes, 'utf8', 'utf16le').toString('utf16le');
}

const byteOrderMark = Buffer.from('\uFEFF');
const backslash = 0x5c;

/** In two-byte text this takes 128 KiB, from which on V8 allocates more expensively. Shorter documents gain nothing. */
const shortest = 64 * 1024;
/** Minimum bytes per non-ASCII place, and the longest such place: beyond, escaping costs more than it saves. */
const bytesPerPlace = 2_048;
const longestPlace = 64;

const digits = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/**
 * JSON text with the meaning of a document in valid UTF-8, invalid if that is: its own text without a byte order mark,
 * or, for a long document with few non-ASCII characters, ASCII with escapes.
 *
 * V8 stores ASCII in one byte per character, most other text in two.
 */
export function jsonText(document: Buffer): string {
  const isMarked = document.subarray(0, byteOrderMark.length).equals(byteOrderMark);
  const bytes = isMarked ? document.subarray(byteOrderMark.length) : document;
  if (isAscii(bytes)) return bytes.toString('latin1');
  return (bytes.length < shortest ? undefined : escapedText(bytes)) ?? utf8Text(bytes);
}

/** @returns `undefined` if escaping would be slow, or could turn invalid JSON into valid JSON. */
function escapedText(bytes: Buffer): string | undefined {
  const text = bytes.toString('latin1');
  const notAscii = /[\x80-\xff]+/g;
  const pieces: string[] = [];
  let placesLeft = Math.floor(bytes.length / bytesPerPlace);
  let written = 0;
  for (let place = notAscii.exec(text); place; place = notAscii.exec(text)) {
    const from = place.index;
    const end = notAscii.lastIndex;
    if (placesLeft === 0 || end - from > longestPlace) return undefined;
    placesLeft -= 1;
    // After a backslash, our escape would turn an invalid escape into a valid one.
    if (text.charCodeAt(from - 1) === backslash) return undefined;
    pieces.push(text.slice(written, from), escapes(bytes.toString('utf8', from, end)));
    written = end;
  }
  return pieces.join('') + text.slice(written);
}

function escapes(text: string): string {
  let escaped = '';
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    escaped += `\\u${digits[unit >> 8] ?? ''}${digits[unit & 0xff] ?? ''}`;
  }
  return escaped;
}
