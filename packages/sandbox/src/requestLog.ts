import type { Fault } from './faults.js';
import type { EndpointName } from './sandboxOptions.js';

/** One request, as the sandbox saw it. */
export interface LoggedRequest {
  /** Which request to the sandbox it is, from 1. */
  readonly n: number;
  /** `undefined` where there is none at this path. */
  readonly endpoint: EndpointName | undefined;
  readonly method: string;
  readonly path: string;
  /** The query as it was sent, without `?`. */
  readonly query: string;
  /** When it arrived, in ms by the sandbox's clock. */
  readonly arrivedAt: number;
  /** When its answer was sent or its connection was gone; `undefined` while it is open. */
  readonly endedAt: number | undefined;
  /** The status sent; `undefined` before, and where a fault kept it from being sent. */
  readonly status: number | undefined;
  readonly fault: Fault['kind'] | undefined;
  /** The rate limit refused it with 429. */
  readonly rateLimited: boolean;
  /** The client went away before its answer was sent. */
  readonly aborted: boolean;
}

/** Totals since the start. */
export interface SandboxCounts {
  readonly requests: number;
  readonly byStatus: Readonly<Record<number, number>>;
  /** Refused with 429 by the rate limit; those of a fault are not among them. */
  readonly rateLimited: number;
  /** The client went away before the answer was sent. */
  readonly aborted: number;
  /** Open at this moment. */
  readonly open: number;
  /** The most that were open at once. */
  readonly maxOpen: number;
}

/** An entry of the log while its request is open. */
export type OpenRequest = { -readonly [field in keyof LoggedRequest]: LoggedRequest[field] };

/** Counts all requests and remembers the last 10,000. */
export class RequestLog {
  readonly entries: readonly LoggedRequest[];
  readonly #entries: LoggedRequest[] = [];
  readonly #now: () => number;
  readonly #nth = { streams: 0, aptos: 0 };
  readonly #byStatus: Record<number, number> = {};
  readonly #waiting = new Set<{ condition: () => boolean; resolve: () => void; reject: (reason: Error) => void }>();
  #requests = 0;
  #rateLimited = 0;
  #aborted = 0;
  #open = 0;
  #mostOpen = 0;
  #closed = false;

  constructor(now: () => number) {
    this.#now = now;
    this.entries = this.#entries;
  }

  get counts(): SandboxCounts {
    return {
      requests: this.#requests,
      byStatus: { ...this.#byStatus },
      rateLimited: this.#rateLimited,
      aborted: this.#aborted,
      open: this.#open,
      maxOpen: this.#mostOpen,
    };
  }

  /** How many requests came to an endpoint. */
  countAt(endpoint: EndpointName): number {
    return this.#nth[endpoint];
  }

  arrive(request: Pick<LoggedRequest, 'endpoint' | 'method' | 'path' | 'query'>): OpenRequest {
    const entry: OpenRequest = {
      ...request,
      n: ++this.#requests,
      arrivedAt: this.#now(),
      endedAt: undefined,
      status: undefined,
      fault: undefined,
      rateLimited: false,
      aborted: false,
    };
    if (request.endpoint !== undefined) this.#nth[request.endpoint]++;
    this.#mostOpen = Math.max(this.#mostOpen, ++this.#open);
    this.#entries.push(entry);
    if (this.#entries.length > REMEMBERED_REQUESTS) this.#entries.shift();
    this.#tell();
    return entry;
  }

  /** Closes an entry. Its status, fault and refusal are what was set on it meanwhile. */
  end(entry: OpenRequest, aborted: boolean): void {
    entry.endedAt = this.#now();
    entry.aborted = aborted && !this.#closed;
    this.#open--;
    if (entry.aborted) this.#aborted++;
    if (entry.rateLimited) this.#rateLimited++;
    if (entry.status !== undefined) this.#byStatus[entry.status] = (this.#byStatus[entry.status] ?? 0) + 1;
    this.#tell();
  }

  /** Resolves as soon as the condition holds; it is asked whenever a request arrives or ends. */
  until(condition: () => boolean): Promise<void> {
    if (condition()) return Promise.resolve();
    return new Promise((resolve, reject) => this.#waiting.add({ condition, resolve, reject }));
  }

  /** What ends from now on is ended by us, not by clients; and who still waits is told that nothing will come. */
  close(): void {
    this.#closed = true;
    for (const { reject } of this.#waiting)
      reject(new Error('The sandbox was closed before the awaited request came.'));
    this.#waiting.clear();
  }

  #tell(): void {
    for (const waiter of this.#waiting) {
      if (!waiter.condition()) continue;
      this.#waiting.delete(waiter);
      waiter.resolve();
    }
  }
}

const REMEMBERED_REQUESTS = 10_000;
