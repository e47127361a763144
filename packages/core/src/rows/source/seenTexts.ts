import { hashWords } from './fingerprint.js';

const firstSlots = 16;

/**
 * A set of texts, stored as 64-bit hashes: 9 to 18 bytes each. One in 40 million sets of a million texts takes a new
 * text for a known one.
 *
 * By default it stores the first 917,504 texts, in 8 MiB, and ignores later ones.
 */
export class SeenTexts {
  /** Two words per slot, 0 in a free one. At most 7/8 full, so that searches stay short. */
  #words = new Uint32Array(2 * firstSlots);
  #size = 0;
  readonly #maxSlots: number;

  constructor(maxSlots = 2 ** 20) {
    this.#maxSlots = maxSlots;
  }

  get size(): number {
    return this.#size;
  }

  has(text: string): boolean {
    const [high, low] = wordsOf(text);
    return this.#words[this.#slotOf(high, low)] === high;
  }

  add(text: string): void {
    const [high, low] = wordsOf(text);
    const isKnown = this.#words[this.#slotOf(high, low)] === high;
    if (isKnown || !this.#hasCapacity()) return;
    this.#put(high, low);
    this.#size += 1;
  }

  /** Grows the table if it is full and may grow. */
  #hasCapacity(): boolean {
    const slots = this.#words.length / 2;
    if (this.#size < (slots / 8) * 7) return true;
    if (slots >= this.#maxSlots) return false;
    const words = this.#words;
    this.#words = new Uint32Array(2 * words.length);
    for (let at = 0; at < words.length; at += 2) {
      const high = words[at] ?? 0;
      if (high !== 0) this.#put(high, words[at + 1] ?? 0);
    }
    return true;
  }

  #put(high: number, low: number): void {
    const at = this.#slotOf(high, low);
    this.#words[at] = high;
    this.#words[at + 1] = low;
  }

  /** The slot of a hash, or the free one for it. */
  #slotOf(high: number, low: number): number {
    const words = this.#words;
    let at = 2 * (low & (words.length / 2 - 1));
    while (words[at] !== 0 && (words[at] !== high || words[at + 1] !== low)) at = (at + 2) % words.length;
    return at;
  }
}

/** The first word is never 0, which marks a free slot. */
function wordsOf(text: string): readonly [high: number, low: number] {
  const [high, low] = hashWords(text);
  return [high === 0 ? 1 : high, low];
}
