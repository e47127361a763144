/** Counts the requests to a server, stores the last 10,000, and lets tests wait for conditions. */
export class ServerLog<Entry extends { aborted: boolean }> {
  readonly entries: readonly Entry[];
  requests = 0;
  aborted = 0;
  open = 0;
  maxOpen = 0;
  protected readonly now: () => number;
  readonly #entries: Entry[] = [];
  readonly #closedError: Error;
  #isClosed = false;
  readonly #waiters = new Set<{ condition: () => boolean; resolve: () => void; reject: (reason: Error) => void }>();

  /** @param closedMessage the error of pending waits when the server closes. */
  constructor(now: () => number, closedMessage: string) {
    this.now = now;
    this.entries = this.#entries;
    this.#closedError = new Error(closedMessage);
  }

  /** Resolves when the condition holds; checked at once and on each `notify`. */
  until(condition: () => boolean): Promise<void> {
    if (condition()) return Promise.resolve();
    if (this.#isClosed) return Promise.reject(this.#closedError);
    return new Promise((resolve, reject) => this.#waiters.add({ condition, resolve, reject }));
  }

  /** Checks all conditions. */
  notify(): void {
    for (const waiter of this.#waiters) {
      if (!waiter.condition()) continue;
      this.#waiters.delete(waiter);
      waiter.resolve();
    }
  }

  /** Rejects pending waits. Requests that end later were not aborted by clients. */
  close(): void {
    this.#isClosed = true;
    for (const { reject } of this.#waiters) reject(this.#closedError);
    this.#waiters.clear();
  }

  protected opened(entry: Entry): Entry {
    this.maxOpen = Math.max(this.maxOpen, ++this.open);
    this.#entries.push(entry);
    if (this.#entries.length > REMEMBERED_REQUESTS) this.#entries.shift();
    this.notify();
    return entry;
  }

  protected ended(entry: Entry, isAborted: boolean): void {
    entry.aborted = isAborted && !this.#isClosed;
    this.open--;
    if (entry.aborted) this.aborted++;
    this.notify();
  }
}

const REMEMBERED_REQUESTS = 10_000;
