import type { ErrorReport } from '../errorReport.js';

/** Which request an event is about. */
interface OfRequest {
  /** A name for what is asked for, e.g. `aptos.walletNfts`. */
  readonly route: string;
  /** Counts a client's requests from 1, so that those under way at once can be told apart. */
  readonly request: number;
}

/** A request is prepared: it is behind all links and has not waited for a turn yet. The key is not part of it. */
export interface RequestEvent extends OfRequest {
  readonly type: 'request';
  readonly method: 'GET' | 'POST';
  /** The whole address, scrubbed of secrets. */
  readonly url: string;
}

/**
 * An attempt has its turn and is sent. It is sent again, with a turn of its own and the same number, where the server had closed the connection
 * while it idled.
 */
export interface AttemptEvent extends OfRequest {
  readonly type: 'attempt';
  /** Counts a request's attempts from 1. */
  readonly attempt: number;
  /** Ms for which it waited for the limiter. */
  readonly waited: number;
}

/** An answer has come, whatever its status. */
export interface ResponseEvent extends OfRequest {
  readonly type: 'response';
  readonly attempt: number;
  readonly status: number;
  /** Ms from the attempt's start to the last byte. */
  readonly took: number;
}

/** An attempt has failed, and another one follows. */
export interface RetryEvent extends OfRequest {
  readonly type: 'retry';
  /** The attempt that failed. */
  readonly attempt: number;
  /** Ms until the next one. */
  readonly delay: number;
  /** The code of what went wrong, one of `SluiceErrorCode`. */
  readonly reason: string;
  /** What went wrong. */
  readonly error: ErrorReport;
  /** Ms for which it is tried from here on before it ends the request, by the option `retry.for`; `Infinity` where nothing ends it. */
  readonly left: number;
}

/** The API asked for a pause: no request of the client starts meanwhile. */
export interface PausedEvent extends OfRequest {
  readonly type: 'paused';
  /** Ms. */
  readonly for: number;
}

/** A request has come to its end. There is one of these for each `request`, and it is the last event of it. */
export type SettledEvent = OfRequest & {
  readonly type: 'settled';
  /** Attempts sent; 0 if it never had its turn. */
  readonly attempts: number;
  /** Ms since it was prepared, waits for the limiter included. */
  readonly took: number;
} & RequestOutcome;

/** How a request ended. `stopped`: its caller wanted no answer any more, which is no error. */
export type RequestOutcome =
  | { readonly outcome: 'answered'; readonly status: number }
  | { readonly outcome: 'failed'; readonly error: ErrorReport }
  | { readonly outcome: 'stopped' };

/** What happens below a request, for those who watch; it can't be altered from here. */
export type HttpEvent = RequestEvent | AttemptEvent | ResponseEvent | RetryEvent | PausedEvent | SettledEvent;

/** Tells those who watch, if there is somebody: only then the event is made. */
export type Emit<E> = (event: () => E) => void;
