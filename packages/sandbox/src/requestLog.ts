import type { Fault } from './faults.js';
import type { EndpointName } from './sandboxOptions.js';
import { ServerLog } from './serverLog.js';

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

/** The log of the sandbox's requests. */
export class RequestLog extends ServerLog<OpenRequest> {
  readonly #nth = { streams: 0, aptos: 0 };
  readonly #byStatus: Record<number, number> = {};
  #rateLimited = 0;

  constructor(now: () => number) {
    super(now, 'The sandbox was closed before the awaited request came.');
  }

  get counts(): SandboxCounts {
    const { requests, aborted, open, maxOpen } = this;
    return { requests, byStatus: { ...this.#byStatus }, rateLimited: this.#rateLimited, aborted, open, maxOpen };
  }

  /** How many requests came to an endpoint. */
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

  /** Closes an entry. Its status, fault and refusal are what was set on it meanwhile. */
  end(entry: OpenRequest, isAborted: boolean): void {
    entry.endedAt = this.now();
    if (entry.rateLimited) this.#rateLimited++;
    if (entry.status !== undefined) this.#byStatus[entry.status] = (this.#byStatus[entry.status] ?? 0) + 1;
    this.ended(entry, isAborted);
  }
}
