import type { OutgoingHttpHeaders } from 'node:http';

/** Thrown where a request can't be served: becomes an answer of this status with the body `{"message": …}`. */
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
