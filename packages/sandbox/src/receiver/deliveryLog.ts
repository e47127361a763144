import type { IncomingHttpHeaders } from 'node:http';
import { ServerLog } from '../serverLog.js';

/** A request to the receiver. */
export interface ReceivedRequest {
  /** Number of the request, from 1. */
  readonly n: number;
  /** The `webhook-id`; empty if there is none. */
  readonly id: string;
  /** Number of the request with this `webhook-id`, from 1. */
  readonly attempt: number;
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** When its headers arrived, in ms of the receiver's clock. */
  readonly arrivedAt: number;
  /** Ms until its response was sent or its connection closed; `undefined` while it is open. */
  readonly took: number | undefined;
  /** The status sent; `undefined` before, and if none was. */
  readonly status: number | undefined;
  /** Number of its records; 0 if its body was not read. */
  readonly records: number;
  /** Whether its records count as accepted, even if the response was an error. */
  readonly accepted: boolean;
  /** Why it was refused: signature, `webhook-id` or method; otherwise `undefined`. */
  readonly refusal: string | undefined;
  /** Whether the sender disconnected before the response was sent. */
  readonly aborted: boolean;
}

/** An entry of the log while its request is open. */
export type OpenDelivery = { -readonly [field in keyof ReceivedRequest]: ReceivedRequest[field] };

export class DeliveryLog extends ServerLog<OpenDelivery> {
  refused = 0;
  failed = 0;

  constructor(now: () => number) {
    super(now, 'The receiver was closed before the awaited delivery arrived.');
  }

  arrive(request: Pick<ReceivedRequest, 'id' | 'attempt' | 'method' | 'path' | 'headers'>): OpenDelivery {
    return this.opened({
      ...request,
      n: ++this.requests,
      arrivedAt: this.now(),
      took: undefined,
      status: undefined,
      records: 0,
      accepted: false,
      refusal: undefined,
      aborted: false,
    });
  }

  /** Closes an entry. The caller has set its other fields. */
  end(entry: OpenDelivery, isAborted: boolean): void {
    entry.took = this.now() - entry.arrivedAt;
    this.ended(entry, isAborted);
  }
}
