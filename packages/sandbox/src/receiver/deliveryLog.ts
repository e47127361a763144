import type { IncomingHttpHeaders } from 'node:http';
import { ServerLog } from '../serverLog.js';

/** One request, as the receiver saw it. */
export interface ReceivedRequest {
  /** Which request to the receiver it is, from 1. */
  readonly n: number;
  /** The `webhook-id`; empty where there is none. */
  readonly id: string;
  /** Which request with this `webhook-id` it is, from 1. */
  readonly attempt: number;
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** When its headers arrived, in ms by the receiver's clock. */
  readonly arrivedAt: number;
  /** How long it took until its answer was sent or its connection was gone, in ms; `undefined` while it is open. */
  readonly took: number | undefined;
  /** The status sent; `undefined` before, and where none was. */
  readonly status: number | undefined;
  /** How many records it carried; 0 where its body was not read. */
  readonly records: number;
  /** Its records count as accepted, whatever the sender was told. */
  readonly accepted: boolean;
  /** Why it was refused, where it was: signature, `webhook-id` or method. */
  readonly refusal: string | undefined;
  /** The sender went away before its answer was sent. */
  readonly aborted: boolean;
}

/** An entry of the log while its request is open. */
export type OpenDelivery = { -readonly [field in keyof ReceivedRequest]: ReceivedRequest[field] };

/** The log of the receiver's requests. */
export class DeliveryLog extends ServerLog<OpenDelivery> {
  refused = 0;
  failed = 0;

  constructor(now: () => number) {
    super(now, 'The receiver was closed before the awaited delivery came.');
  }

  arrive({
    id,
    attempt,
    method,
    path,
    headers,
  }: Pick<ReceivedRequest, 'id' | 'attempt' | 'method' | 'path' | 'headers'>): OpenDelivery {
    return this.opened({
      ...{ n: ++this.requests, id, attempt, method, path, headers, arrivedAt: this.now() },
      ...{ took: undefined, status: undefined, records: 0, accepted: false, refusal: undefined, aborted: false },
    });
  }

  /** Closes an entry. Its other fields are what was set on it meanwhile. */
  end(entry: OpenDelivery, isAborted: boolean): void {
    entry.took = this.now() - entry.arrivedAt;
    this.ended(entry, isAborted);
  }
}
