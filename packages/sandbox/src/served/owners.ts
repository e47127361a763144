import { draws, fraction, hex } from './random.js';

/** The holdings `from <= index < to`. */
export interface Run {
  readonly from: number;
  readonly to: number;
}

/** The owners, each with one run of the holdings: the first ones have most. */
export class Owners {
  /** Full addresses: 0x and 64 lower case hexadecimal digits. */
  readonly addresses: readonly string[];
  readonly #ends: readonly number[];
  readonly #numbers: ReadonlyMap<string, number>;

  constructor(seed: number, owners: number, holdings: number) {
    const address = draws(seed, 'owner');
    this.addresses = Array.from({ length: owners }, (_, number) => `0x${hex(address(number), 64)}`);
    this.#numbers = new Map(this.addresses.map((text, number) => [text, number]));
    this.#ends = ends(seed, owners, holdings);
  }

  /** The run of an owner; empty for an unknown address. */
  runOf(address: string): Run {
    const number = this.#numbers.get(address);
    if (number === undefined) return { from: 0, to: 0 };
    return { from: this.#ends[number - 1] ?? 0, to: this.#ends[number] ?? 0 };
  }

  /** The address that owns the row. */
  ownerOf(index: number): string {
    let low = 0;
    let high = this.#ends.length - 1;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (index < (this.#ends[middle] ?? 0)) high = middle;
      else low = middle + 1;
    }
    return this.addresses[low] ?? '';
  }
}

/** An address in lower case, padded to 64 digits; `undefined` if it is not valid. */
export function fullAddress(text: string): string | undefined {
  const digits = /^0x([0-9a-f]{1,64})$/i.exec(text)?.[1];
  return digits === undefined ? undefined : `0x${digits.toLowerCase().padStart(64, '0')}`;
}

function ends(seed: number, owners: number, holdings: number): number[] {
  const luck = draws(seed, 'wealth');
  let total = 0;
  const sums = Array.from(
    { length: owners },
    (_, number) => (total += (0.7 + 0.6 * fraction(luck(number))) / (number + 1)),
  );
  // The sums are rounded, not their terms, so that the last end is `holdings`.
  return sums.map((sum) => Math.round((holdings * sum) / total));
}
