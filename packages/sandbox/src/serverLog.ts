/** What each log has of a request. */
export interface LoggedExchange {
  /** The number of the request, from 1. */
  readonly n: number;
  /** When its headers arrived, in ms of the server's clock. */
  readonly arrivedAt: number;
  /** Ms until its response was sent or its connection closed; `undefined` while it is open. */
  readonly took: number | undefined;
  /** The status sent; `undefined` before, and if none was. */
  readonly status: number | undefined;
  /** Whether the client disconnected before the response was sent. */
  readonly aborted: boolean;
}

/** Totals since the start. */
export interface ServerCounts {
  readonly requests: number;
  /** Requests whose client disconnected before the response was sent. */
  readonly aborted: number;
  /** Requests that are open now. */
  readonly open: number;
  /** Maximum number of concurrent requests. */
  readonly maxOpen: number;
}

/** An entry of a log while its request is open. */
export type Open<Entry> = { -readonly [field in keyof Entry]: Entry[field] };

/** Counts the requests to a server, stores the last 10,000, and lets tests wait for conditions. */
export class ServerLog<Own extends object> {
  readonly entries: readonly (Open<LoggedExchange> & Own)[];
  connections = 0;
  requests = 0;
  aborted = 0;
  open = 0;
  maxOpen = 0;
  readonly #now: () => number;
  readonly #entries: (Open<LoggedExchange> & Own)[] = [];
  readonly #closedError: Error;
  #isClosed = false;
  readonly #waiters = new Set<{ condition: () => boolean; resolve: () => void; reject: (reason: Error) => void }>();

  /** @param closedMessage the error of pending waits when the server closes. */
  constructor(now: () => number, closedMessage: string) {
    this.#now = now;
    this.entries = this.#entries;
    this.#closedError = new Error(closedMessage);
  }

  arrive(own: Own): Open<LoggedExchange> & Own {
    const n = ++this.requests;
    const entry = { ...own, n, arrivedAt: this.#now(), took: undefined, status: undefined, aborted: false };
    this.maxOpen = Math.max(this.maxOpen, ++this.open);
    this.#entries.push(entry);
    if (this.#entries.length > REMEMBERED_REQUESTS) this.#entries.shift();
    this.notify();
    return entry;
  }

  /** Closes an entry. The caller has set its other fields. */
  end(entry: Open<LoggedExchange> & Own, isAborted: boolean): void {
    entry.took = this.#now() - entry.arrivedAt;
    entry.aborted = isAborted && !this.#isClosed;
    this.open--;
    if (entry.aborted) this.aborted++;
    this.notify();
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
}

const REMEMBERED_REQUESTS = 10_000;
