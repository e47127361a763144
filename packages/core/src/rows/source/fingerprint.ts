import { isRecord } from '../../values.js';
/** How many rows of a page are hashed. */
const maxSampled = 8;

/**
 * Identifies a page by its number of rows and a hash of eight evenly spaced rows. If it has no more than eight, or two
 * of the eight are equal, all rows are hashed: repeated rows say little.
 *
 * Computed when the page arrives, before anyone can modify it. Hashing all of a hundred rows takes seven times as long.
 */
export function fingerprintOf(rows: readonly unknown[]): string {
  return fingerprintsOf(rows).page;
}

/** The number of rows of a page, from its fingerprint. */
export function rowsOfFingerprint(fingerprint: string): number {
  return Number(fingerprint.split('.')[0]);
}

/** The fingerprint of a page, and the JSON of its last row, which is among the rows that are hashed. */
export function fingerprintsOf(rows: readonly unknown[]): { readonly page: string; readonly lastRow: string } {
  const sample = rows.length > maxSampled ? sampleOf(rows).map(jsonOf) : [];
  const hashed = sample.length > 0 && areDistinct(sample) ? sample : rows.map(jsonOf);
  const [high, low] = hashWords(hashed.join('\n'));
  return { page: `${rows.length}.${high.toString(36)}.${low.toString(36)}`, lastRow: hashed.at(-1) ?? '' };
}

/** Compares each pair, which is faster than a set: that would hash the long texts. */
function areDistinct(texts: readonly string[]): boolean {
  return texts.every((text, nth) => !texts.includes(text, nth + 1));
}

/** The length of rows as JSON, estimated from some of them. */
export function jsonLengthOf(rows: readonly unknown[]): number {
  const sample = rows.length > maxSampled ? sampleOf(rows) : rows;
  const length = sample.reduce<number>((sum, row) => sum + jsonOf(row).length + 1, 0);
  return Math.ceil((length * rows.length) / Math.max(1, sample.length));
}

function sampleOf(rows: readonly unknown[]): readonly unknown[] {
  const step = (rows.length - 1) / (maxSampled - 1);
  const sample: unknown[] = [];
  for (let nth = 0; nth < maxSampled; nth += 1) sample.push(rows[Math.round(nth * step)]);
  return sample;
}

/** A 53-bit hash of a value's JSON, in base 36. It does not protect against forgery. */
export function hashOf(value: unknown): string {
  return hashOfJson(jsonOf(value));
}

/** JSON with sorted field names, so that the order of the fields does not matter. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, field: unknown) =>
    isRecord(field) ? Object.fromEntries(Object.entries(field).sort(([a], [b]) => (a < b ? -1 : 1))) : field,
  );
}

/** `hashOf` for a value that is JSON already. */
export function hashOfJson(json: string): string {
  const [high, low] = hashWords(json);
  // `toString(36)` of a number takes ten times as long as of a bigint.
  return BigInt(high * 2 ** 21 + (low >>> 11)).toString(36);
}

function jsonOf(value: unknown): string {
  if (value === undefined) return '';
  try {
    return JSON.stringify(value);
  } catch {
    // Rows may contain bigints, which JSON can't express.
    return JSON.stringify(value, (_, part: unknown) => (typeof part === 'bigint' ? `${part}n` : part));
  }
}

/** A 64-bit hash of a text, as two numbers of 32 bits each. */
export function hashWords(text: string): readonly [high: number, low: number] {
  // Two multiplicative words, each mixed at the end, so that a change anywhere reaches every bit.
  let a = 0x811c9dc5;
  let b = 0x9e3779b9;
  // V8 has many internal types of strings: `text.length` and `text.charCodeAt` would cost a lookup for each character.
  const { length } = text;
  for (let i = 0; i < length; i += 1) {
    const code = String.prototype.charCodeAt.call(text, i);
    a = Math.imul(a ^ code, 0x01000193);
    b = Math.imul(((b << 5) | (b >>> 27)) ^ code, 0x85ebca77);
  }
  return [mixed(a), mixed(b ^ a)];
}

function mixed(word: number): number {
  let bits = Math.imul(word ^ (word >>> 16), 0x7feb352d);
  bits = Math.imul(bits ^ (bits >>> 15), 0x846ca68b);
  return (bits ^ (bits >>> 16)) >>> 0;
}
