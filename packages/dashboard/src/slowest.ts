import type { Snapshot } from './snapshot.js';

const max = 8;

/** The slowest responses, the slowest first. */
export class Slowest {
  #list: Snapshot['slowest'] = [];

  get list(): Snapshot['slowest'] {
    return this.#list;
  }

  add(response: Snapshot['slowest'][number]): void {
    const last = this.#list.at(-1);
    if (last && this.#list.length >= max && response.took <= last.took) return;
    this.#list = [...this.#list, response].sort((a, b) => b.took - a.took).slice(0, max);
  }
}
