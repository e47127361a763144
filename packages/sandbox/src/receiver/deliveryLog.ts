import type { IncomingHttpHeaders } from 'node:http';
import { Waiters } from './waiters.js';

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

/** Counts all requests and remembers the last 10,000. */
export class DeliveryLog extends Waiters {
  readonly entries: readonly ReceivedRequest[];
  requests = 0;
  refused = 0;
  failed = 0;
  aborted = 0;
  open = 0;
  maxOpen = 0;
  readonly #entries: OpenDelivery[] = [];
  readonly #now: () => number;
  #closed = false;

  constructor(now: () => number) {
    super();
    this.#now = now;
    this.entries = this.#entries;
  }

  arrive(request: Pick<ReceivedRequest, 'id' | 'attempt' | 'method' | 'path' | 'headers'>): OpenDelivery {
    const entry: OpenDelivery = {
      n: ++this.requests,
      id: request.id,
      attempt: request.attempt,
      method: request.method,
      path: request.path,
      headers: request.headers,
      arrivedAt: this.#now(),
      took: undefined,
      status: undefined,
      records: 0,
      accepted: false,
      refusal: undefined,
      aborted: false,
    };
    this.maxOpen = Math.max(this.maxOpen, ++this.open);
    this.#entries.push(entry);
    if (this.#entries.length > REMEMBERED_REQUESTS) this.#entries.shift();
    this.tell();
    return entry;
  }

  /** Closes an entry. Its other fields are what was set on it meanwhile. */
  end(entry: OpenDelivery, aborted: boolean): void {
    entry.took = this.#now() - entry.arrivedAt;
    entry.aborted = aborted && !this.#closed;
    this.open--;
    if (entry.aborted) this.aborted++;
    this.tell();
  }

  /** What ends from now on is ended by us, not by senders; and who still waits is told that nothing will come. */
  close(): void {
    this.#closed = true;
    this.dismiss(new Error('The receiver was closed before the awaited delivery came.'));
  }
}

const REMEMBERED_REQUESTS = 10_000;
