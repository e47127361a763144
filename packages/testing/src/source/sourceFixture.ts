import type { Subscribable } from 'rxjs';
import type { PageSource } from '@sluice/core';
import type { Fixture } from '../suite.js';

/** What a source has to be: it can be pushed, pulled by rows and pulled by pages, whichever copy of the library made it. */
export type TestedSource<T> = PageSource<T> & Subscribable<T> & AsyncIterable<T>;

/** How an API answers from now on. `fail`: by an error that no retry gets over. `never`: the request stays open. */
export type Answering = 'well' | 'fail' | 'never';

/** Requests that an API has seen. */
export interface SeenRequests {
  /** Since the beginning, those that are open included. */
  readonly made: number;
  /** Neither answered nor given up by who made them. */
  readonly open: number;
}

/** An API of its own, with a source on it. */
export interface SourceFixture<T> extends Fixture {
  /** The source, made anew. It has at least three pages, two of them with rows, and makes one request a page. */
  source(): TestedSource<T>;
  /** What the API has seen so far. Without it no check can tell what is asked for, and when. */
  requests?(): SeenRequests;
  /** Tells the API how to answer the requests that come from now on. Without it faults and stops in the middle are not checked. */
  answer?(how: Answering): void;
}
