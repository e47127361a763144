import type { FetchedPage, UndecodedPage } from './definition.js';

/** The rows of an answer, made of what came when somebody asks for them. */
export class LateRows<T> {
  /** The rows as they came, one for each. */
  readonly received: readonly unknown[];
  /** Kept as it is: a function that holds it in this place outlives it in V8's eyes, and every page would grow old in memory. */
  readonly #page: FetchedPage<T> | UndecodedPage<T>;
  #made: readonly T[] | undefined;

  constructor(page: FetchedPage<T> | UndecodedPage<T>) {
    this.received = 'decode' in page ? page.received : (page.received ?? page.rows);
    this.#page = page;
  }

  /** @throws what the API's decoder raises at something that is no row. */
  get made(): readonly T[] {
    return (this.#made ??= 'decode' in this.#page ? this.#page.decode() : this.#page.rows);
  }
}
