import type { Link } from '@sluice/core';
import { rateLimitHeaders } from '@sluice/core/define';
import { formatCount, formatDuration } from '../../terminal/format.js';

const { read } = rateLimitHeaders();

/** Reads from the headers of responses which rate an API allows. */
export class RateNote {
  #said = '';

  /** Follows the responses of a client. */
  readonly link: Link = (next) => async (request) => {
    const response = await next(request);
    this.#said = describeRate(response.headers, Date.now());
    return response;
  };

  /** What the latest response says, as a sentence after a full stop; empty if it says nothing. Then it is forgotten. */
  take(): string {
    const said = this.#said;
    this.#said = '';
    return said === '' ? '' : `. ${said}`;
  }
}

/**
 * How many requests are left, for how long, and the rate that lasts until then. Of several quotas, the tightest counts.
 *
 * @example describeRate({ 'x-ratelimit-remaining': '59', 'x-ratelimit-reset': '60' }, now)
 * // 'Its headers allow 59 requests in the next 1 min 0 s: --rate 59/m lasts that long'
 */
export function describeRate(headers: Readonly<Record<string, string>>, now: number): string {
  const [tightest] = read(headers, now)
    .flatMap(({ remaining, resetIn = 0 }) => (remaining > 0 && resetIn > 0 ? [{ remaining, resetIn }] : []))
    .toSorted((one, other) => one.remaining / one.resetIn - other.remaining / other.resetIn);
  if (!tightest) return '';
  const { remaining, resetIn } = tightest;
  for (const [unit, ms] of [
    ['s', 1_000],
    ['m', 60_000],
    ['h', 3_600_000],
  ] as const) {
    const rate = Math.floor((remaining * ms) / resetIn);
    if (rate >= 1)
      return `Its headers allow ${formatCount(remaining, 'request')} in the next ${formatDuration(resetIn)}: --rate ${String(rate)}/${unit} lasts that long`;
  }
  return '';
}
