import type { AttemptResponse } from './adapter/adapter.js';
import type { RequestedUrl } from './exchange.js';
import { addressOf } from './origin.js';
import type { HttpMethod } from './requestDetails.js';

/** How many redirects of a request are followed. */
const maxRedirects = 5;

const followed: readonly number[] = [301, 302, 303, 307, 308];

/** A request whose redirects may be followed. */
export interface RedirectRules {
  readonly method: HttpMethod;
  readonly baseUrl: string;
  /** The URL that was asked for first. */
  readonly asked: string;
  /** An address of the server without what credentials add to one: that is added anew. */
  readonly withoutSecret: (address: string) => string;
  readonly isSecret: (text: string) => boolean;
}

/** Where to send a request again; or, if it is not followed, why, unless that is clear. */
interface Redirect {
  readonly redirectTo?: string;
  readonly refusal?: string;
}

/**
 * Where a response redirects a GET request to: within the base URL, up to five times. A redirect that leaves out a
 * parameter is not followed: page 3 would become page 1.
 *
 * @param from where the response comes from
 */
export function redirectOf(
  { status, headers }: Pick<AttemptResponse, 'status' | 'headers'>,
  { url: from, redirects }: RequestedUrl,
  { method, baseUrl, asked, withoutSecret, isSecret }: RedirectRules,
): Redirect {
  const { location } = headers;
  if (!followed.includes(status) || location === undefined) return {};
  if (!URL.canParse(location, from)) return {};
  const target = new URL(withoutSecret(new URL(location, from).href));
  const query = target.search.slice(1);
  if (!isBelow(baseUrl, target)) return {};
  const redirectTo = target.origin + target.pathname + target.search;
  if (isSecret(redirectTo)) return {};
  if (method !== 'GET') return { refusal: `only a GET request is sent again, and this is a ${method}` };
  if (!hasAll(query, new URL(asked).search))
    return { refusal: 'its query lacks parameters of the request, so the response would be to another one' };
  if (redirects === maxRedirects) return { refusal: `it was redirected ${maxRedirects} times before` };
  return { redirectTo };
}

/** Whether a request of this client could have that address: the same rules hold for both. */
function isBelow(baseUrl: string, { origin, pathname, username, password }: URL): boolean {
  const base = new URL(baseUrl);
  const root = base.pathname.replace(/\/+$/, '');
  if (origin !== base.origin || username !== '' || password !== '' || !pathname.startsWith(`${root}/`)) return false;
  try {
    addressOf(baseUrl, pathname.slice(root.length));
    return true;
  } catch {
    return false;
  }
}

/** Whether a query has every parameter of another one, as often, with the same value. */
function hasAll(query: string, asked: string): boolean {
  const left = Array.from(new URLSearchParams(query), String);
  return Array.from(new URLSearchParams(asked), String).every((pair) => {
    const at = left.indexOf(pair);
    if (at !== -1) left.splice(at, 1);
    return at !== -1;
  });
}
