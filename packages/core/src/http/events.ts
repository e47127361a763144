import type { ErrorReport } from '../errorReport.js';
import type { HttpMethod } from './requestDetails.js';
import type { Quota } from './limit/limiterTypes.js';

/** Which request an event is about. */
interface OfRequest {
  /** A name for the request, e.g. `aptos.nfts`. */
  readonly route: string;
  /** The number of the request, from 1 per client; it tells concurrent requests apart. */
  readonly request: number;
}

/** A request has passed all links, and has not waited for the limiter yet. It does not contain the key. */
export interface RequestEvent extends OfRequest {
  readonly type: 'request';
  readonly method: HttpMethod;
  /** The whole URL, with secrets redacted. */
  readonly url: string;
}

/** An attempt is sent, with a permit. If the server had closed the idle connection, it is sent and emitted again. */
export interface AttemptEvent extends OfRequest {
  readonly type: 'attempt';
  /** Counts a request's attempts from 1. */
  readonly attempt: number;
  /** Ms for which it waited for the limiter. */
  readonly waited: number;
}

/** A response arrived, with any status. */
export interface ResponseEvent extends OfRequest {
  readonly type: 'response';
  readonly attempt: number;
  readonly status: number;
  /** Ms from the attempt's start to the last byte. */
  readonly took: number;
  /** What the response says about the API's quota, if the API has the option `quota`. */
  readonly quota?: Quota;
}

/** An attempt has failed, and another one follows. */
export interface RetryEvent extends OfRequest {
  readonly type: 'retry';
  /** The attempt that failed. */
  readonly attempt: number;
  /** Ms until the next one. */
  readonly delay: number;
  /** The error's code, one of `SluiceErrorCode`. */
  readonly reason: string;
  /** The error of the attempt. */
  readonly error: ErrorReport;
  /** Ms for which this request keeps being retried, by `retry.for`; `Infinity` means no limit. */
  readonly left: number;
}

/**
 * The API refused a request for now. No request with the same limiter starts until the pause is over; if a quota is
 * used up, no request with the same quota.
 */
export interface PausedEvent extends OfRequest {
  readonly type: 'paused';
  /** Ms. */
  readonly for: number;
  /** The quota, if that is what is waited for. */
  readonly quota?: Quota;
}

/** A request ended. There is one for each `request`, and it is the last event of that request. */
export type SettledEvent = OfRequest & {
  readonly type: 'settled';
  /** Attempts sent; 0 if it never got a permit. */
  readonly attempts: number;
  /** Ms since its `request` event, including waits for the limiter. */
  readonly took: number;
} & RequestOutcome;

/** How a request ended. `stopped`: its caller cancelled it, which is not an error. */
export type RequestOutcome =
  | { readonly outcome: 'answered'; readonly status: number }
  | { readonly outcome: 'failed'; readonly error: ErrorReport }
  | { readonly outcome: 'stopped' };

/** What happens below the links. Observers cannot change it. */
export type HttpEvent = RequestEvent | AttemptEvent | ResponseEvent | RetryEvent | PausedEvent | SettledEvent;

/** Emits an event of a type. The function that creates it is called only if somebody observes that type. */
export type Emit<E extends { readonly type: string }> = <Type extends E['type']>(
  type: Type,
  make: () => Extract<E, { readonly type: Type }>,
) => void;
