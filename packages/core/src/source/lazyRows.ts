import { ConfigError } from '../errors.js';
import type { FetchedPage, UndecodedPage } from './definition.js';
import { sourceFault } from './sourceFault.js';

/** The rows of a page, decoded on first access. */
export class LazyRows<T> {
  readonly received: readonly unknown[];
  readonly #source: string;
  /** The page until it is decoded. Not in a closure, which V8 would let outlive it, with every page. */
  #page: FetchedPage<T> | UndecodedPage<T> | undefined;
  /** The result. A failed decode is not repeated: the decoder may have modified its input. */
  #outcome: { readonly rows: readonly T[] } | { readonly error: unknown } | undefined;

  constructor(page: FetchedPage<T> | UndecodedPage<T>, source: string) {
    this.received = 'decode' in page ? page.received : (page.received ?? page.rows);
    this.#page = page;
    this.#source = source;
  }

  /** @throws the decoder's error, each time; ConfigError if it does not return one row for each received. */
  get rows(): readonly T[] {
    const outcome = (this.#outcome ??= this.#decode());
    if ('error' in outcome) throw outcome.error;
    return outcome.rows;
  }

  #decode(): { readonly rows: readonly T[] } | { readonly error: unknown } {
    const page = this.#page;
    this.#page = undefined;
    try {
      const made = page && 'decode' in page ? page.decode() : (page?.rows ?? []);
      if (made.length === this.received.length) return { rows: made };
      const message = `${this.#source} received ${this.received.length} row(s) and returned ${made.length}. Return one row for each: positions count received rows.`;
      return { error: new ConfigError(message) };
    } catch (error) {
      return { error: sourceFault(error, this.#source, 'decode') };
    }
  }
}
