/** What a quota server says to a request. */
export interface QuotaAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
}

/** Counts requests by its own clock, in ms since 1970. */
export interface QuotaServer {
  /** Windows begin at this distance, in ms. */
  readonly per: number;
  /** Requests that it lets pass in each window. */
  readonly requests: number;
  /** Whether it lets the request pass, and what it says. */
  answer(now: number): QuotaAnswer;
}

interface Quota {
  readonly requests: number;
  readonly per: number;
}

/** Windows of fixed length on the clock, with the reset in whole seconds. */
export function fixedWindow({ requests, per }: Quota, rounding: (seconds: number) => number = Math.ceil): QuotaServer {
  let window = -1;
  let used = 0;
  return {
    requests,
    per,
    answer(now) {
      const current = Math.floor(now / per);
      if (current !== window) [window, used] = [current, 0];
      const isFull = used >= requests;
      if (!isFull) used += 1;
      const reset = String(rounding(((current + 1) * per - now) / 1000));
      return {
        status: isFull ? 429 : 200,
        headers: {
          'x-ratelimit-limit': String(requests),
          'x-ratelimit-remaining': String(requests - used),
          'x-ratelimit-reset': reset,
          ...(isFull && { 'retry-after': reset }),
        },
      };
    },
  };
}

/** No window of this length, wherever it begins, has more. The reset is when the oldest request leaves, or the newest. */
export function slidingWindow({ requests, per }: Quota, leaver: 'oldest' | 'newest' = 'oldest'): QuotaServer {
  let starts: number[] = [];
  return {
    requests,
    per,
    answer(now) {
      starts = starts.filter((at) => at > now - per);
      const isFull = starts.length >= requests;
      if (!isFull) starts.push(now);
      return {
        status: isFull ? 429 : 200,
        headers: {
          'ratelimit-remaining': String(requests - starts.length),
          'ratelimit-reset': String(Math.ceil(((starts.at(leaver === 'oldest' ? 0 : -1) ?? now) + per - now) / 1000)),
        },
      };
    },
  };
}

/** A window begins with its first request; 403 instead of 429, resources, and the reset in seconds since 1970. */
export function githubWindow({ requests, per }: Quota, resource = 'core'): QuotaServer {
  let end = 0;
  let used = 0;
  return {
    requests,
    per,
    answer(now) {
      if (now >= end) [end, used] = [Math.ceil((now + per) / 1000) * 1000, 0];
      const isFull = used >= requests;
      if (!isFull) used += 1;
      return {
        status: isFull ? 403 : 200,
        headers: {
          date: new Date(now).toUTCString(),
          'x-ratelimit-limit': String(requests),
          'x-ratelimit-remaining': String(requests - used),
          'x-ratelimit-reset': String(end / 1000),
          'x-ratelimit-resource': resource,
        },
      };
    },
  };
}

/** OpenAI's way: requests and tokens, of which there are plenty, with durations as resets. */
export function tokenWindow(quota: Quota): QuotaServer {
  const { answer, ...server } = fixedWindow(quota);
  let tokens = 0;
  return {
    ...server,
    answer(now) {
      const { status, headers } = answer(now);
      tokens = (tokens + 7) % 40;
      return {
        status,
        headers: {
          'x-ratelimit-limit-requests': headers['x-ratelimit-limit'] ?? '',
          'x-ratelimit-remaining-requests': headers['x-ratelimit-remaining'] ?? '',
          'x-ratelimit-reset-requests': `${headers['x-ratelimit-reset'] ?? ''}s`,
          'x-ratelimit-limit-tokens': '40',
          'x-ratelimit-remaining-tokens': String(tokens),
          'x-ratelimit-reset-tokens': '6m0s',
          ...(headers['retry-after'] !== undefined && { 'retry-after': headers['retry-after'] }),
        },
      };
    },
  };
}

/** The draft's structured fields, with a policy for bursts beside that of the window. */
export function draftWindow({ requests, per }: Quota, burst: Quota): QuotaServer {
  const long = fixedWindow({ requests, per });
  const short = fixedWindow(burst);
  return {
    requests,
    per,
    answer(now) {
      const first = long.answer(now);
      const second = short.answer(now);
      const field = (name: string, { headers }: QuotaAnswer): string =>
        `"${name}";r=${headers['x-ratelimit-remaining'] ?? ''};t=${headers['x-ratelimit-reset'] ?? ''}`;
      return {
        status: Math.max(first.status, second.status),
        headers: {
          'ratelimit-policy': `"long";q=${requests};w=${per / 1000}, "burst";q=${burst.requests};w=${burst.per / 1000}, "bytes";q=9000;qu="content-bytes";w=1`,
          ratelimit: `${field('long', first)}, ${field('burst', second)}, "bytes";r=0;t=1000`,
        },
      };
    },
  };
}
