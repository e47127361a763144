import type { Subscribable } from 'rxjs';
import type { PageSource } from '@sluice/core/kit';
import type { Fixture } from '../suite.js';

/** The interface of a source: subscribe, pull rows, pull pages. Structural, so any copy of the library fits. */
export type TestedSource<T> = PageSource<T> & Subscribable<T> & AsyncIterable<T>;

/**
 * How an API responds from now on.
 *
 * - `well`: as it does.
 * - `fail`: with an error that is not retried.
 * - `never`: not at all, so that the request stays open.
 * - `small-pages`: with 10 rows a page at most, whatever is requested.
 * - `same-page`: as to the request before, whatever is requested.
 * - `first-row-gone`: without the first of its rows, which was removed.
 * - `html`: to the next request with an HTML page and status 200, as a proxy does, and then well.
 *
 * The API of `serveListing` does all of that. Where another one responds well instead, the check is skipped.
 */
export type Answering = 'well' | 'fail' | 'never' | 'small-pages' | 'same-page' | 'first-row-gone' | 'html';

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
  /** The requests so far. Without it, checks of the number and time of requests are skipped. */
  requests?(): SeenRequests;
  /** Sets how the API responds to later requests. Without it, checks of failures and cancellation are skipped. */
  answer?(how: Answering): void;
  /**
   * Lets the API say with its next response, in its rate limit headers, that nothing is left for so many seconds. Until
   * then it refuses requests, e.g. with 429. Without it, the check of quotas is skipped.
   */
  useUpQuota?(seconds: number): void;
  /**
   * `true` if rows never move to another page, because the API only lists new ones last and removes none; or if nothing
   * notices moves, because it has page numbers only. Then a row may be missed. Default `false`: the source must notice them.
   */
  readonly areRowsStill?: boolean;
}
