import { hashWords } from './fingerprint.js';

const firstSlots = 16;
const maxSlots = 2 ** 20;

/**
 * Remembers which texts it was given, as hashes of 64 bits: 9 to 18 bytes each, whatever their length. That it takes a new text for a known
 * one happens to one set of a million texts in 40 million.
 *
 * It remembers 917,504 texts at most, in 8 MiB, and forgets none of them for those that come later.
 */
export class SeenTexts {
  /** Two words a slot, and nothing in a slot that is free. Full to 7/8 at most, so that a text that is new is soon known to be. */
  #words = new Uint32Array(2 * firstSlots);
  #size = 0;

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
    if (isKnown || !this.#hasRoom()) return;
    this.#put(high, low);
    this.#size += 1;
  }

  /** Makes room where there is none and may be some. */
  #hasRoom(): boolean {
    const slots = this.#words.length / 2;
    if (this.#size < (slots / 8) * 7) return true;
    if (slots === maxSlots) return false;
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

  /** Where a hash stands, or could be put. */
  #slotOf(high: number, low: number): number {
    const words = this.#words;
    let at = 2 * (low & (words.length / 2 - 1));
    while (words[at] !== 0 && (words[at] !== high || words[at + 1] !== low)) at = (at + 2) % words.length;
    return at;
  }
}

/** A slot is free where its first word is 0, so no text's is. */
function wordsOf(text: string): readonly [high: number, low: number] {
  const [high, low] = hashWords(text);
  return [high === 0 ? 1 : high, low];
}
