/** A seeded sequence of 32-bit words, read by index in any order. */
export type Draw = (index: number) => number;

/**
 * One sequence per subject, so that a new subject does not change the others. Indices below 2^32 give distinct words.
 *
 * @param seed any number; only its lower 32 bits count
 * @param subject e.g. `'amount'`
 * @example
 * const amountOf = draws(1, 'amount');
 * amountOf(7) === amountOf(7); // always
 */
export function draws(seed: number, subject: string): Draw {
  const start = mix(hashText(subject) ^ mix(seed));
  // Both rounds are bijective in the index, so all words differ.
  return (index) => mix(mix(start ^ index) + start);
}

/** A word as a fraction, 0 <= x < 1. */
export function fraction(word: number): number {
  return word / 0x1_0000_0000;
}

/** The item of a list for a word. The list must not be empty. */
export function pick<T>(list: readonly T[], word: number): T {
  const item = list[word % list.length];
  if (item === undefined) throw new RangeError('There is nothing to pick from: the list is empty.');
  return item;
}

/** Hexadecimal text from a word; different words give different texts. `digits` is a multiple of 8. */
export function hex(word: number, digits: number): string {
  let text = '';
  for (let state = word; text.length < digits; state = mix(state + 0x9e37_79b9)) {
    // A table, because `toString(16)` takes seven times as long, and half of a row is hashes.
    text += hexByte(state >>> 24) + hexByte(state >>> 16) + hexByte(state >>> 8) + hexByte(state);
  }
  return text;
}

function hexByte(word: number): string {
  return hexBytes[word & 0xff] ?? '';
}

const hexBytes: readonly string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/** A 32-bit hash of a text (FNV-1a, then mixed). */
export function hashText(text: string): number {
  let hash = 0x811c_9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x0100_0193);
  return mix(hash);
}

/** A seeded hash of a text with 53 bits, as short text. Not cryptographic. */
export function fingerprint(seed: number, text: string): string {
  let high = mix(seed);
  let low = mix(high + 1);
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    high = Math.imul(high ^ code, 0x0100_0193);
    low = Math.imul(low ^ code, 0x85eb_ca6b);
  }
  return ((mix(high) >>> 11) * 0x1_0000_0000 + mix(low ^ high)).toString(36);
}

/** The finalizer of MurmurHash3, which is bijective. */
function mix(word: number): number {
  let mixed = word | 0;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85eb_ca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2_ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
