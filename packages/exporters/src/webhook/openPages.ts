import { endOf, type SpooledPage } from './decodeSpool.js';

interface OpenPage {
  /** The number after its last record. */
  readonly end: number;
  readonly records: number;
  /** Of its bodies, in characters. */
  readonly length: number;
}

/** How much of pages may wait in memory for their delivery, in characters, besides two pages of any size. */
const maxLength = 8 * 1024 * 1024;

/** Pages whose records are in memory, oldest first. It has only their sizes. */
export class OpenPages {
  readonly #maxRecords: number;
  readonly #pages: OpenPage[] = [];
  #records = 0;
  #length = 0;

  constructor(maxRecords: number) {
    this.#maxRecords = maxRecords;
  }

  get count(): number {
    return this.#pages.length;
  }

  /** Whether no other page should be added. */
  get isFull(): boolean {
    return this.#pages.length > 2 && (this.#length > maxLength || this.#records > this.#maxRecords);
  }

  /** The number after the last record of the oldest page; 0 without one. */
  get first(): number {
    return this.#pages[0]?.end ?? 0;
  }

  /** The same, of the page in the middle. */
  get middle(): number {
    return this.#pages[this.#pages.length >> 1]?.end ?? 0;
  }

  add(page: SpooledPage): void {
    const { records } = page;
    const length = records.reduce((sum, { body }) => sum + body.length, 0);
    this.#pages.push({ end: endOf(page), records: records.length, length });
    this.#records += records.length;
    this.#length += length;
  }

  /** Removes one that is not kept in memory. */
  remove(page: SpooledPage): void {
    const index = this.#pages.findLastIndex(({ end }) => end === endOf(page));
    this.#subtract(this.#pages.splice(index, index === -1 ? 0 : 1));
  }

  /** Removes those whose records are all before a number. */
  settle(next: number): void {
    const open = this.#pages.findIndex(({ end }) => end > next);
    this.#subtract(this.#pages.splice(0, open === -1 ? this.#pages.length : open));
  }

  #subtract(pages: readonly OpenPage[]): void {
    for (const { records, length } of pages) {
      this.#records -= records;
      this.#length -= length;
    }
  }
}
