// As GitHub responds: a page, a Link header, and what is left of a quota. What is beyond it gets a 403.
import { type Answering, byLinkHeader } from './listingServer.js';

/** A quota of `requests` in each window of `per` whole seconds. */
export class GithubQuota {
  readonly requests: number;
  readonly per: number;
  used = 0;
  /** In seconds since 1970. */
  reset = 0;

  constructor({ requests = 5_000, per = 3600 } = {}) {
    this.requests = requests;
    this.per = per;
  }

  /** Lets the next request be the last one for so many seconds. */
  useUp(seconds: number): void {
    this.used = this.requests - 1;
    this.reset = Math.ceil(Date.now() / 1000) + seconds;
  }
}

export function githubAnswers(token: string, quota = new GithubQuota()): Answering<unknown> {
  const { requests, per } = quota;
  return (url, rows, received) => {
    if (received.headers.authorization !== `Bearer ${token}`)
      return { status: 401, body: { message: 'Bad credentials' } };
    const now = Date.now() / 1000;
    if (now >= quota.reset) Object.assign(quota, { used: 0, reset: Math.ceil(now) + per });
    quota.used += 1;
    const { used, reset } = quota;
    const reported = {
      'x-ratelimit-limit': String(requests),
      'x-ratelimit-remaining': String(Math.max(0, requests - used)),
      'x-ratelimit-reset': String(reset),
      'x-ratelimit-resource': 'core',
    };
    if (used > requests) return { status: 403, body: { message: 'API rate limit exceeded' }, headers: reported };
    const page = byLinkHeader(url, rows, received);
    return { ...page, headers: { ...page.headers, ...reported } };
  };
}
