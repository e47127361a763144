// As GitHub responds: a page, a Link header, and what is left of a quota. What is beyond it gets a 403.
import { type Answering, byLinkHeader } from './listingServer.js';

/** @param per the quota's window, in whole seconds */
export function githubAnswers(token: string, { requests = 5_000, per = 3600 } = {}): Answering<unknown> {
  let [used, reset] = [0, 0];
  return (url, rows, received) => {
    if (received.headers.authorization !== `Bearer ${token}`)
      return { status: 401, body: { message: 'Bad credentials' } };
    const now = Date.now() / 1000;
    if (now >= reset) [used, reset] = [0, Math.ceil(now) + per];
    used += 1;
    const quota = {
      'x-ratelimit-limit': String(requests),
      'x-ratelimit-remaining': String(Math.max(0, requests - used)),
      'x-ratelimit-reset': String(reset),
      'x-ratelimit-resource': 'core',
    };
    if (used > requests) return { status: 403, body: { message: 'API rate limit exceeded' }, headers: quota };
    const page = byLinkHeader(url, rows, received);
    return { ...page, headers: { ...page.headers, ...quota } };
  };
}
