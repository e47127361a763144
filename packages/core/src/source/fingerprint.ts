/** A first row whose JSON is longer is known by its hash, so that a fingerprint stays small. */
const longestHead = 4_096;

/**
 * Tells pages apart without keeping them: the number of rows, a hash of the first row and a hash of all rows. The last one
 * costs most and is only worked out when the others agree, or when a position is written down.
 */
export class Fingerprint {
  #rows: readonly unknown[];
  #settle: () => void;
  readonly #count: number;
  /** The first row's JSON when the page came, or its hash. Comparing it costs less than hashing it, and few pages begin alike. */
  readonly #head: string;
  readonly #isHashed: boolean;
  #text: string | undefined;

  /** @param settle is called before all rows are hashed: whoever makes others of them may change them, and has done so by then. */
  constructor(rows: readonly unknown[], settle: () => void) {
    this.#rows = rows;
    this.#settle = settle;
    this.#count = rows.length;
    const head = jsonOf(rows[0]);
    this.#isHashed = head.length > longestHead;
    this.#head = this.#isHashed ? hashOfText(head) : head;
  }

  /** Whether `other`, a fingerprint or its text, is of a page with the same rows. */
  equals(other: Fingerprint | string): boolean {
    const mayEqual =
      typeof other === 'string'
        ? other.startsWith(`${this.#quick}.`)
        : other.#count === this.#count && other.#head === this.#head;
    return mayEqual && String(other) === this.toString();
  }

  /** Itself, once it needs the rows no more: pages may be large, and a walk long. */
  withoutRows(): this {
    this.toString();
    this.#rows = [];
    return this;
  }

  toString(): string {
    if (this.#text === undefined) {
      this.#settle();
      this.#settle = () => undefined;
      this.#text = `${this.#quick}.${hashOf(this.#rows)}`;
    }
    return this.#text;
  }

  get #quick(): string {
    return `${this.#count}.${this.#isHashed ? this.#head : hashOfText(this.#head)}`;
  }
}

/** The same once its rows are needed no more. */
export function withoutRows(fingerprint: Fingerprint | string): Fingerprint | string {
  return typeof fingerprint === 'string' ? fingerprint : fingerprint.withoutRows();
}

/** A 53-bit hash of a value's JSON, in base 36. Equal values have equal hashes; it is no protection against forgery. */
export function hashOf(value: unknown): string {
  return hashOfText(jsonOf(value));
}

function jsonOf(value: unknown): string {
  return value === undefined ? '' : JSON.stringify(value);
}

function hashOfText(text: string): string {
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
