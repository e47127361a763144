import type { OutgoingHttpHeaders } from 'node:http';

/** Thrown for a request that can't be served: becomes a response with this status and `{"message": …}`. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly status: number;
  readonly headers: OutgoingHttpHeaders;

  constructor(status: number, message: string, headers: OutgoingHttpHeaders = {}) {
    super(message);
    this.status = status;
    this.headers = headers;
  }
}
