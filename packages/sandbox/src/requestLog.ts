import type { Fault } from './faults.js';
import type { EndpointName } from './sandboxOptions.js';
import { ServerLog } from './serverLog.js';

/** A request to the sandbox. */
export interface LoggedRequest {
  /** The number of the request, from 1. */
  readonly n: number;
  /** `undefined` if the path has none. */
  readonly endpoint: EndpointName | undefined;
  readonly method: string;
  readonly path: string;
  /** The raw query, without `?`. */
  readonly query: string;
  /** When it arrived, in ms of the sandbox's clock. */
  readonly arrivedAt: number;
  /** When its response was sent or its connection closed; `undefined` while it is open. */
  readonly endedAt: number | undefined;
  /** The status sent; `undefined` before, and if a fault prevented it. */
  readonly status: number | undefined;
  readonly fault: Fault['kind'] | undefined;
  /** Whether the rate limit refused it with 429. */
  readonly rateLimited: boolean;
  /** Whether the client disconnected before the response was sent. */
  readonly aborted: boolean;
}

/** Totals since the start. */
export interface SandboxCounts {
  readonly requests: number;
  readonly byStatus: Readonly<Record<number, number>>;
  /** Refused with 429 by the rate limit, not by a fault. */
  readonly rateLimited: number;
  /** Requests whose client disconnected before the response was sent. */
  readonly aborted: number;
  /** Requests that are open now. */
  readonly open: number;
  /** Maximum number of concurrent requests. */
  readonly maxOpen: number;
}

/** An entry of the log while its request is open. */
export type OpenRequest = { -readonly [field in keyof LoggedRequest]: LoggedRequest[field] };

export class RequestLog extends ServerLog<OpenRequest> {
  readonly #nth = { streams: 0, aptos: 0 };
  readonly #byStatus: Record<number, number> = {};
  #rateLimited = 0;

  constructor(now: () => number) {
    super(now, 'The sandbox was closed before the awaited request arrived.');
  }

  get counts(): SandboxCounts {
    const { requests, aborted, open, maxOpen } = this;
    return { requests, byStatus: { ...this.#byStatus }, rateLimited: this.#rateLimited, aborted, open, maxOpen };
  }

  /** Number of requests to an endpoint. */
  countAt(endpoint: EndpointName): number {
    return this.#nth[endpoint];
  }

  arrive(request: Pick<LoggedRequest, 'endpoint' | 'method' | 'path' | 'query'>): OpenRequest {
    if (request.endpoint !== undefined) this.#nth[request.endpoint]++;
    return this.opened({
      ...request,
      n: ++this.requests,
      arrivedAt: this.now(),
      endedAt: undefined,
      status: undefined,
      fault: undefined,
      rateLimited: false,
      aborted: false,
    });
  }

  /** Closes an entry. The caller has set its status, fault and refusal. */
  end(entry: OpenRequest, isAborted: boolean): void {
    entry.endedAt = this.now();
    if (entry.rateLimited) this.#rateLimited++;
    if (entry.status !== undefined) this.#byStatus[entry.status] = (this.#byStatus[entry.status] ?? 0) + 1;
    this.ended(entry, isAborted);
  }
}
