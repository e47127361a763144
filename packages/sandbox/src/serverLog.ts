/** Counts all requests to a server, remembers the last 10,000, and lets others wait for what they bring. */
export class ServerLog<Entry extends { aborted: boolean }> {
  readonly entries: readonly Entry[];
  requests = 0;
  aborted = 0;
  /** Open at this moment. */
  open = 0;
  maxOpen = 0;
  protected readonly now: () => number;
  readonly #entries: Entry[] = [];
  readonly #closing: Error;
  #isClosed = false;
  readonly #waiting = new Set<{ condition: () => boolean; resolve: () => void; reject: (reason: Error) => void }>();

  /** @param closing what those are told who still wait when the server closes. */
  constructor(now: () => number, closing: string) {
    this.now = now;
    this.entries = this.#entries;
    this.#closing = new Error(closing);
  }

  /** Resolves as soon as the condition holds; it is asked at once, and at each `tell`. */
  until(condition: () => boolean): Promise<void> {
    if (condition()) return Promise.resolve();
    if (this.#isClosed) return Promise.reject(this.#closing);
    return new Promise((resolve, reject) => this.#waiting.add({ condition, resolve, reject }));
  }

  /** Something happened: asks all conditions. */
  tell(): void {
    for (const waiter of this.#waiting) {
      if (!waiter.condition()) continue;
      this.#waiting.delete(waiter);
      waiter.resolve();
    }
  }

  /** What ends from now on is ended by us, not by clients; and who still waits learns that nothing will come. */
  close(): void {
    this.#isClosed = true;
    for (const { reject } of this.#waiting) reject(this.#closing);
    this.#waiting.clear();
  }

  protected opened(entry: Entry): Entry {
    this.maxOpen = Math.max(this.maxOpen, ++this.open);
    this.#entries.push(entry);
    if (this.#entries.length > REMEMBERED_REQUESTS) this.#entries.shift();
    this.tell();
    return entry;
  }

  protected ended(entry: Entry, isAborted: boolean): void {
    entry.aborted = isAborted && !this.#isClosed;
    this.open--;
    if (entry.aborted) this.aborted++;
    this.tell();
  }
}

const REMEMBERED_REQUESTS = 10_000;
