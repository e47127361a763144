import type { OutgoingHttpHeaders } from 'node:http';
import { fraction, pick } from './served/random.js';

/**
 * A fault. The first group replaces the response, the second disturbs its transfer, the third changes the page.
 *
 * @example
 * startSandbox({ script: ({ nth }) => (nth === 3 ? { kind: 'cut-body' } : undefined) });
 */
export type Fault =
  /** Another response. `body` is sent as it is; default: `{"message": …}`. */
  | { readonly kind: 'status'; readonly status: number; readonly headers?: OutgoingHttpHeaders; readonly body?: string }
  /** The connection is reset before the response. */
  | { readonly kind: 'reset' }
  /** The request is accepted, but never answered. */
  | { readonly kind: 'never' }
  /** A web page instead of JSON. `status`: default 200. */
  | { readonly kind: 'html'; readonly status?: number }
  /** `status`: default 302. `location` may be relative. */
  | { readonly kind: 'redirect'; readonly location: string; readonly status?: 301 | 302 | 303 | 307 | 308 }
  /** Valid JSON of about `bytes` bytes, streamed without a length. `gzip`: compressed (a gzip bomb). */
  | { readonly kind: 'huge-body'; readonly bytes: number; readonly gzip?: boolean }
  /** An error whose body contains the `X-API-Key`: raw, URL-encoded and in base64. `status`: default 403. */
  | { readonly kind: 'echo-key'; readonly status?: number }
  /** Half of the body with the full length, then the connection ends. */
  | { readonly kind: 'cut-body' }
  /** Half of the body with its own length: a complete response that is not valid JSON. */
  | { readonly kind: 'wrong-json' }
  /** The body in pieces of `bytes` (default 1), one every `every` ms. */
  | { readonly kind: 'slow-drip'; readonly every: number; readonly bytes?: number }
  /** The correct response, `ms` later. */
  | { readonly kind: 'delay'; readonly ms: number }
  /** The correct rows, with the request's cursor as the next one. */
  | { readonly kind: 'repeat-cursor' }
  /** The correct rows, with a cursor `rows` rows back: that page's cursor, or a new one (`minted`). */
  | { readonly kind: 'lead-back'; readonly rows: number; readonly minted?: boolean }
  /** Always page 1, with a new cursor. */
  | { readonly kind: 'ignore-cursor' }
  /** No rows, with a cursor to the rows of this page. */
  | { readonly kind: 'empty-page' }
  /** Before the response, each row moves back by `by` places (default 1), as if rows were inserted at the front. */
  | { readonly kind: 'moved-rows'; readonly by?: number };

/**
 * The rate of each fault as a share of requests, 0 to 1; together at most 1. Faults depend on the seed, the request and
 * its attempt, so a retry may succeed; after three faults in a row it does.
 *
 * @example
 * startSandbox({ faults: { serverError: 0.05, reset: 0.01 } });
 */
export type FaultRates = Readonly<Partial<Record<FaultName, number>>>;

/** A fault that can come by rate. */
export type FaultName = keyof typeof faultsByName;

/** The fault of each rate; `word` is random. */
const faultsByName = {
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
} satisfies Readonly<Record<string, (word: number) => Fault>>;

/** All faults that can come by rate. */
export const faultNames: readonly FaultName[] = Object.keys(faultsByName).filter(isFaultName);

export function isFaultName(name: string): name is FaultName {
  return Object.hasOwn(faultsByName, name);
}

/** Returns the function that picks the fault of a random word; `another` is random too. */
export function pickByRate(rates: FaultRates): (word: number, another: number) => Fault | undefined {
  let sum = 0;
  const shares = faultNames.map((name) => ({ fault: faultsByName[name], upTo: (sum += rates[name] ?? 0) }));
  return (word, another) => shares.find(({ upTo }) => fraction(word) < upTo)?.fault(another);
}
