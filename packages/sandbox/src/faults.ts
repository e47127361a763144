import type { OutgoingHttpHeaders } from 'node:http';
import { pick } from './random.js';

/**
 * One way of misbehaving. The first group replaces the answer, the second spoils the way of the right answer to the client,
 * the third changes which page is answered.
 *
 * @example
 * startSandbox({ script: ({ nth }) => (nth === 3 ? { kind: 'cut-body' } : undefined) });
 */
export type Fault =
  /** Another answer. `body` is sent as it is; without one, `{"message": …}`. */
  | { readonly kind: 'status'; readonly status: number; readonly headers?: OutgoingHttpHeaders; readonly body?: string }
  /** The connection is reset before the answer. */
  | { readonly kind: 'reset' }
  /** The request is accepted and never answered. */
  | { readonly kind: 'never' }
  /** A web page instead of JSON. `status`: default 200. */
  | { readonly kind: 'html'; readonly status?: number }
  /** `status`: default 302. `location` may be relative. */
  | { readonly kind: 'redirect'; readonly location: string; readonly status?: 301 | 302 | 303 | 307 | 308 }
  /** Legal JSON of about `bytes` bytes, streamed without a length. `gzip`: packed, so little travels (a gzip bomb). */
  | { readonly kind: 'huge-body'; readonly bytes: number; readonly gzip?: boolean }
  /** An error whose body repeats the `X-API-Key` it got: raw, URL-encoded and in base64. `status`: default 403. */
  | { readonly kind: 'echo-key'; readonly status?: number }
  /** Half of the body under the length of the whole one, then the connection ends. */
  | { readonly kind: 'cut-body' }
  /** Half of the body under a length that agrees: a complete answer that is not JSON. */
  | { readonly kind: 'wrong-json' }
  /** The body in pieces of `bytes` (default 1), one every `every` ms. */
  | { readonly kind: 'slow-drip'; readonly every: number; readonly bytes?: number }
  /** The right answer, `ms` later. */
  | { readonly kind: 'delay'; readonly ms: number }
  /** The right rows, with the cursor that led to them as the next one. */
  | { readonly kind: 'repeat-cursor' }
  /** The right rows, with a cursor that leads `rows` rows back: the one that page had, or (`minted`) one that was never seen before. */
  | { readonly kind: 'lead-back'; readonly rows: number; readonly minted?: boolean }
  /** Page 1 whatever the cursor says, with a new cursor that was never seen before. */
  | { readonly kind: 'ignore-cursor' }
  /** No rows, with a cursor that goes on with the rows which are due. */
  | { readonly kind: 'empty-page' }
  /** Before the answer, each row of the endpoint steps back by `by` places (default 1), as if rows were put in front. */
  | { readonly kind: 'moved-rows'; readonly by?: number };

/**
 * How often the seed brings a fault: each a share of the requests, 0 to 1; together at most 1. Whether a request meets one
 * depends on the seed, the request and how often it was sent, so a retry may succeed; after three faults in a row it does.
 *
 * @example
 * startSandbox({ faults: { serverError: 0.05, reset: 0.01 } });
 */
export type FaultRates = Readonly<Partial<Record<FaultName, number>>>;

/** The faults that can come by rate. */
export const faultNames = [
  'serverError',
  'tooManyRequests',
  'reset',
  'never',
  'html',
  'redirect',
  'echoKey',
  'cutBody',
  'wrongJson',
  'slowDrip',
  'delay',
  'repeatCursor',
  'ignoreCursor',
  'emptyPage',
  'movedRows',
] as const;

/** One name of {@link faultNames}. */
export type FaultName = (typeof faultNames)[number];

/** What each rate brings; `word` is random. */
export const faultsByName: Readonly<Record<FaultName, (word: number) => Fault>> = {
  serverError: (word) => ({ kind: 'status', status: pick([500, 502, 503, 504], word) }),
  tooManyRequests: () => ({ kind: 'status', status: 429, headers: { 'retry-after': '1' } }),
  reset: () => ({ kind: 'reset' }),
  never: () => ({ kind: 'never' }),
  html: () => ({ kind: 'html' }),
  redirect: () => ({ kind: 'redirect', location: '/elsewhere' }),
  echoKey: () => ({ kind: 'echo-key', status: 500 }),
  cutBody: () => ({ kind: 'cut-body' }),
  wrongJson: () => ({ kind: 'wrong-json' }),
  slowDrip: () => ({ kind: 'slow-drip', every: 5, bytes: 1_024 }),
  delay: (word) => ({ kind: 'delay', ms: 50 + (word % 200) }),
  repeatCursor: () => ({ kind: 'repeat-cursor' }),
  ignoreCursor: () => ({ kind: 'ignore-cursor' }),
  emptyPage: () => ({ kind: 'empty-page' }),
  movedRows: () => ({ kind: 'moved-rows' }),
};
