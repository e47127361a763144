import { statusTone } from '@sluice/core/health';

/** An order in which statuses that stand for a failure come first. */
export function badFirst(one: string | null | undefined, other: string | null | undefined): number {
  return Number(statusTone(other ?? '') === 'bad') - Number(statusTone(one ?? '') === 'bad');
}

/** The first ones by an order, of any number. */
export class Best<T> {
  readonly #max: number;
  readonly #order: (one: T, other: T) => number;
  #items: T[] = [];

  constructor(max: number, order: (one: T, other: T) => number) {
    this.#max = max;
    this.#order = order;
  }

  add(item: T): void {
    this.#items.push(item);
    if (this.#items.length > 2 * this.#max) this.#items = this.list();
  }

  list(): T[] {
    return this.#items.toSorted(this.#order).slice(0, this.#max);
  }
}
