import { isAscii } from 'node:buffer';
import { utf8Text } from './utf8Text.js';

const byteOrderMark = Buffer.from('\uFEFF');
const backslash = 0x5c;

/** Bytes of a document for each place in it that is not ASCII. Where there are more places, escapes take longer than they save. */
const bytesPerPlace = 2_048;
/** So that a short document may have some, too. */
const placesToBegin = 8;
/** Bytes. Longer ones are text in a script of its own, of which there is more to come. */
const longestPlace = 256;

/** A byte's hexadecimal digits. */
const digits = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/**
 * A text that says as JSON what a document in valid UTF-8 says, and that is none where the document is none: its own text, without
 * the mark that some begin with, or ASCII with escapes for the few characters that are not.
 *
 * V8 keeps a text of ASCII in one byte a character and most others in two, and has a dearer place for what is longer than 128 KiB. A page
 * of 71 kB with ten emojis takes two thirds of the time in this way, `JSON.parse` included.
 */
export function jsonText(document: Buffer): string {
  const isMarked = document.subarray(0, byteOrderMark.length).equals(byteOrderMark);
  const bytes = isMarked ? document.subarray(byteOrderMark.length) : document;
  if (isAscii(bytes)) return bytes.toString('latin1');
  return escapedText(bytes) ?? utf8Text(bytes);
}

/** @returns nothing where that would be dear, or might make JSON of what is none. */
function escapedText(bytes: Buffer): string | undefined {
  const text = bytes.toString('latin1');
  const notAscii = /[\x80-\xff]+/g;
  const pieces: string[] = [];
  let [places, written] = [0, 0];
  for (let place = notAscii.exec(text); place; place = notAscii.exec(text)) {
    const [from, end] = [place.index, notAscii.lastIndex];
    places += 1;
    if (places > placesToBegin + from / bytesPerPlace || end - from > longestPlace) return undefined;
    // It may be the half of an escape that JSON does not know, and would become one that it knows.
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
