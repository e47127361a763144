/**
 * Tells pages apart without keeping them: the number of rows, a hash of the first row and a hash of all rows. The last one
 * costs most and is only worked out when the others agree, or when a position is written down.
 */
export class Fingerprint {
  readonly #rows: readonly unknown[];
  readonly #quick: string;
  #full: string | undefined;

  constructor(rows: readonly unknown[]) {
    this.#rows = rows;
    this.#quick = `${rows.length}.${hashOf(rows[0])}`;
  }

  /** Whether `other`, a fingerprint or its text, is of a page with the same rows. */
  equals(other: Fingerprint | string): boolean {
    const mayEqual = typeof other === 'string' ? other.startsWith(`${this.#quick}.`) : other.#quick === this.#quick;
    return mayEqual && String(other) === this.toString();
  }

  toString(): string {
    return (this.#full ??= `${this.#quick}.${hashOf(this.#rows)}`);
  }
}

/** A 53-bit hash of a value's JSON, in base 36. Equal values have equal hashes; it is no protection against forgery. */
export function hashOf(value: unknown): string {
  const text = value === undefined ? '' : JSON.stringify(value);
  // Two multiplicative lanes with different constants, each mixed at the end, so that a change anywhere reaches every bit.
  let a = 0x811c9dc5;
  let b = 0x9e3779b9;
  for (let i = 0; i < text.length; i += 1) {
    const code = text.charCodeAt(i);
    a = Math.imul(a ^ code, 0x01000193);
    b = Math.imul(((b << 5) | (b >>> 27)) ^ code, 0x85ebca77);
  }
  return (mixed(a) * 2 ** 21 + (mixed(b ^ a) >>> 11)).toString(36);
}

function mixed(lane: number): number {
  let bits = Math.imul(lane ^ (lane >>> 16), 0x7feb352d);
  bits = Math.imul(bits ^ (bits >>> 15), 0x846ca68b);
  return (bits ^ (bits >>> 16)) >>> 0;
}
