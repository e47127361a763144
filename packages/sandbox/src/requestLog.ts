import type { Fault } from './faults.js';
import type { EndpointName } from './sandboxOptions.js';
import { ServerLog, type LoggedExchange, type Open, type ServerCounts } from './serverLog.js';

/** A request to the sandbox. */
export interface LoggedRequest extends LoggedExchange {
  /** `undefined` if the path has none. */
  readonly endpoint: EndpointName | undefined;
  readonly method: string;
  readonly path: string;
  /** The raw query, without `?`. */
  readonly query: string;
  readonly fault: Fault['kind'] | undefined;
  /** Whether the rate limit refused it with 429. */
  readonly rateLimited: boolean;
}

/** Totals since the start. */
export interface SandboxCounts extends ServerCounts {
  readonly byStatus: Readonly<Record<number, number>>;
  /** Refused with 429 by the rate limit, not by a fault. */
  readonly rateLimited: number;
}

/** An entry of the log while its request is open. */
export type OpenRequest = Open<LoggedRequest>;

type Own = Omit<OpenRequest, keyof LoggedExchange>;

export class RequestLog extends ServerLog<Own> {
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

  override arrive(request: Own): OpenRequest {
    if (request.endpoint !== undefined) this.#nth[request.endpoint]++;
    return super.arrive(request);
  }

  override end(entry: OpenRequest, isAborted: boolean): void {
    if (entry.rateLimited) this.#rateLimited++;
    if (entry.status !== undefined) this.#byStatus[entry.status] = (this.#byStatus[entry.status] ?? 0) + 1;
    super.end(entry, isAborted);
  }
}
