import { isAscii, transcode } from 'node:buffer';
import type { AnswerBody } from './adapter.js';

/** A body of valid UTF-8. Mostly it is read as JSON, and its text is never made. */
export class Utf8Body implements AnswerBody {
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

/**
 * The text of valid UTF-8. As `bytes.toString()` makes it, in less time: that of ASCII is a copy, and `transcode` does several bytes at
 * once where `toString` does one.
 */
export function utf8Text(bytes: Buffer): string {
  return isAscii(bytes) ? bytes.toString('latin1') : transcode(bytes, 'utf8', 'utf16le').toString('utf16le');
}

const byteOrderMark = Buffer.from('\uFEFF');
const backslash = 0x5c;

/** Bytes of the shortest document that gains by it: in two bytes a character it would take 128 KiB, which V8 has a dear place for. */
const shortest = 64 * 1024;
/** Bytes of a document for each place in it that is not ASCII, and of such a place. To escape more of them takes longer than it saves. */
const bytesPerPlace = 2_048;
const longestPlace = 64;

const digits = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/**
 * A text that says as JSON what a document in valid UTF-8 says, and that is none where the document is none: its own text, without
 * the mark that some begin with, or ASCII with escapes for the few characters of a long document that are not.
 *
 * V8 keeps a text of ASCII in one byte a character, and most others in two.
 */
export function jsonText(document: Buffer): string {
  const isMarked = document.subarray(0, byteOrderMark.length).equals(byteOrderMark);
  const bytes = isMarked ? document.subarray(byteOrderMark.length) : document;
  if (isAscii(bytes)) return bytes.toString('latin1');
  return (bytes.length < shortest ? undefined : escapedText(bytes)) ?? utf8Text(bytes);
}

/** @returns nothing where that would be dear, or might make JSON of what is none. */
function escapedText(bytes: Buffer): string | undefined {
  const text = bytes.toString('latin1');
  const notAscii = /[\x80-\xff]+/g;
  const pieces: string[] = [];
  let placesLeft = Math.floor(bytes.length / bytesPerPlace);
  let written = 0;
  for (let place = notAscii.exec(text); place; place = notAscii.exec(text)) {
    const [from, end] = [place.index, notAscii.lastIndex];
    if (placesLeft === 0 || end - from > longestPlace) return undefined;
    placesLeft -= 1;
    // Before an escape of ours, half of one that JSON does not know would become one that it knows.
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
