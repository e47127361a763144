import { thrownText } from '../errors/thrown.js';

/** Called with what came of reading the secrets again. */
type OnReread = (level: 'info' | 'warning', message: string) => void;

/** The secrets of a run that are read again at SIGHUP; nothing else is. */
export class SecretFiles {
  /** By what they are called, e.g. `--secret-file`. */
  readonly #reads = new Map<string, () => Promise<void>>();
  #last = Promise.resolve();
  /** Default: nobody hears of it. */
  onReread: OnReread = () => undefined;

  /** @param read reads it again, and lets the next request use it; if it rejects, nothing may have changed. */
  add(name: string, read: () => Promise<void>): void {
    this.#reads.set(name, read);
  }

  /** Reads all of them again, one after another. Never rejects. */
  readAgain(): Promise<void> {
    this.#last = this.#last.then(() => this.#readAll());
    return this.#last;
  }

  async #readAll(): Promise<void> {
    const names: string[] = [];
    for (const [name, read] of this.#reads) {
      try {
        await read();
        names.push(name);
      } catch (error) {
        this.onReread('warning', `SIGHUP: ${thrownText(error)} What was read before stays in use.`);
      }
    }
    if (names.length > 0) this.onReread('info', `SIGHUP: read ${names.join(', ')} again.`);
    if (this.#reads.size === 0) this.onReread('info', 'SIGHUP: no secret comes from a file, so nothing is read again.');
  }
}
