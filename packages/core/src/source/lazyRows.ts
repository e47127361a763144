import { ConfigError } from '../errors.js';
import type { FetchedPage, UndecodedPage } from './definition.js';
import { sourceFault } from './sourceFault.js';

/** The rows of an answer, made of what came when somebody first asks for them. */
export class LazyRows<T> {
  readonly received: readonly unknown[];
  readonly #source: string;
  /**
   * Until they are made. Kept as it is: a function that holds it in this place outlives it in V8's eyes, and every page would grow old in
   * memory.
   */
  #page: FetchedPage<T> | UndecodedPage<T> | undefined;
  /** What came of it. It is not tried again: whoever makes rows may have changed what they are made of before it failed. */
  #outcome: { readonly rows: readonly T[] } | { readonly error: unknown } | undefined;

  constructor(page: FetchedPage<T> | UndecodedPage<T>, source: string) {
    this.received = 'decode' in page ? page.received : (page.received ?? page.rows);
    this.#page = page;
    this.#source = source;
  }

  /** @throws what the API's decoder raises at something that is no row, each time; ConfigError if it makes more rows than came, or fewer. */
  get made(): readonly T[] {
    const outcome = (this.#outcome ??= this.#make());
    if ('error' in outcome) throw outcome.error;
    return outcome.rows;
  }

  #make(): { readonly rows: readonly T[] } | { readonly error: unknown } {
    const page = this.#page;
    this.#page = undefined;
    try {
      const rows = page && 'decode' in page ? page.decode() : (page?.rows ?? []);
      if (rows.length === this.received.length) return { rows };
      const message = `${this.#source} was sent ${this.received.length} row(s), and made ${rows.length} of them. Make one of each: positions count what came.`;
      return { error: new ConfigError(message) };
    } catch (error) {
      return { error: sourceFault(error, this.#source, 'decode') };
    }
  }
}

/**
 * Resolves when the requests that were begun in this turn of the event loop have left. That is not the next turn but the one after it: undici
 * lets one pass before it uses a connection again, to see whether something came over it that nobody asked for.
 */
export async function afterRequestsSent(): Promise<void> {
  await turnOfTheLoop();
  await turnOfTheLoop();
}

/** The timer is looked up with each call, so that a test or a simulation decides when the turn ends. */
function turnOfTheLoop(): Promise<void> {
  return new Promise((resolve) => {
    if ('setImmediate' in globalThis) globalThis.setImmediate(resolve);
    else if ('MessageChannel' in globalThis) sendToSelf(resolve);
    else setTimeout(resolve, 0);
  });
}

/** For browsers, where a timer waits for up to 4 ms. */
function sendToSelf(onReceived: () => void): void {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => {
    port1.close();
    onReceived();
  };
  port2.postMessage(undefined);
}
