import type { Subscribable } from 'rxjs';
import type { PageSource } from '@sluice/core';
import type { Fixture } from '../suite.js';

/** The interface of a source: subscribe, pull rows, pull pages. Structural, so any copy of the library fits. */
export type TestedSource<T> = PageSource<T> & Subscribable<T> & AsyncIterable<T>;

/** How an API responds from now on. `fail`: with an error that is not retried. `never`: the request stays open. */
export type Answering = 'well' | 'fail' | 'never';

/** A request as an API received it. */
export interface SentRequest {
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  /** The text of its body; absent or empty without one. */
  readonly body?: string | undefined;
  /** The header `Content-Type`. */
  readonly contentType?: string | undefined;
}

/** Requests that an API has seen. */
export interface SeenRequests {
  /** Since the start, open requests included. */
  readonly made: number;
  /** Without a response, and not cancelled. */
  readonly open: number;
  /** All of them, in order. Without it, checks of what requests contain are skipped. */
  readonly sent?: readonly SentRequest[];
}

/** A new API with a source. */
export interface SourceFixture<T> extends Fixture {
  /** Creates the source. It has at least three pages, two of them with rows, and makes one request per page. */
  source(): TestedSource<T>;
  /**
   * How many listings lead to a row: 3 for tasks of members of teams. Each page may take so many requests. Default: 2 for a
   * source with parents, else 1.
   */
  readonly levels?: number;
  /** The requests so far. Without it, checks of the number and time of requests are skipped. */
  requests?(): SeenRequests;
  /** Sets how the API responds to later requests. Without it, checks of failures and cancellation are skipped. */
  answer?(how: Answering): void;
  /**
   * Lets the API say with its next response, in its rate limit headers, that nothing is left for so many seconds. Until
   * then it refuses requests, e.g. with 429. Without it, the check of quotas is skipped.
   */
  useUpQuota?(seconds: number): void;
}
