import type { ShapeName } from './answerShape.js';
import { rowsInFront, type Slice } from './holdings.js';
import { draws, pick } from './random.js';
import { nextStatus, streamRows, type StreamRow } from './streamRow.js';

/** Fields of a stream to be replaced. */
export type StreamPatch = Partial<StreamRow>;

/** The streams of the project, in listing order. They are computed; only changes are stored. */
export class StreamBook {
  readonly #row: (index: number) => StreamRow;
  readonly #tick: (tick: number) => number;
  readonly #ticks: () => number;
  readonly #patches = new Map<number, StreamPatch>();
  readonly #removed = new Set<number>();
  #order: number[];
  #added: number;
  #ticked = 0;

  /** @param ticks the number of status changes since the start, read on every access instead of a timer. */
  constructor(options: { seed: number; streams: number; nasty: number; nested: ShapeName; ticks: () => number }) {
    this.#row = streamRows(options.seed, options.nasty, options.nested);
    this.#tick = draws(options.seed, 'status change');
    this.#ticks = options.ticks;
    this.#order = Array.from({ length: options.streams }, (_, index) => index);
    this.#added = options.streams;
  }

  get size(): number {
    return this.#order.length;
  }

  /** Up to `limit` streams from a place in the listing. */
  read(place: number, limit: number): Slice<StreamRow> {
    this.#catchUp();
    const next = place + limit;
    return {
      rows: this.#order.slice(place, next).map((index) => this.#now(index)),
      next: next < this.#order.length ? next : null,
    };
  }

  /** The stream of an index, wherever it is in the listing. Throws `RangeError` if there is none. */
  row(index: number): StreamRow {
    this.#catchUp();
    if (!Number.isInteger(index) || index < 0 || index >= this.#added || this.#removed.has(index))
      throw new RangeError(
        `There is no stream ${index}: it was removed, or the sandbox never had it (indices count from 0).`,
      );
    return this.#now(index);
  }

  set(index: number, patch: StreamPatch): StreamRow {
    const row = { ...this.row(index), ...patch };
    this.#patch(index, patch);
    return row;
  }

  /** Appends a stream and returns its index, which was never used before. */
  add(patch: StreamPatch): number {
    this.#catchUp();
    const index = this.#added++;
    this.#order.push(index);
    this.#patch(index, patch);
    return index;
  }

  remove(index: number): StreamRow {
    const row = this.row(index);
    this.#order.splice(this.#order.indexOf(index), 1);
    this.#removed.add(index);
    this.#patches.delete(index);
    return row;
  }

  /** Moves every stream back by `by` places; the last ones move to the front. */
  move(by: number): void {
    this.#catchUp();
    const cut = this.size - rowsInFront(by, this.size);
    this.#order = [...this.#order.slice(cut), ...this.#order.slice(0, cut)];
  }

  #now(index: number): StreamRow {
    return { ...this.#row(index), ...this.#patches.get(index) };
  }

  #patch(index: number, patch: StreamPatch): void {
    this.#patches.set(index, { ...this.#patches.get(index), ...patch });
  }

  #catchUp(): void {
    for (const due = this.#ticks(); this.#ticked < due; this.#ticked++) {
      if (this.#order.length === 0) continue;
      const word = this.#tick(this.#ticked);
      const index = pick(this.#order, word);
      this.#patch(index, nextStatus(this.#now(index).status, word >>> 16));
    }
  }
}
