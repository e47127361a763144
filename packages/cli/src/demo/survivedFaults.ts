import { formatCount } from '../terminal/formatNumber.js';

/** What a retry followed, by the code of its error. */
const causes: ReadonlyMap<string, readonly [one: string, many: string]> = new Map([
  ['http', ['server error', 'server errors']],
  ['network', ['lost connection', 'lost connections']],
  ['decode', ['cut answer', 'cut answers']],
  ['timeout', ['late answer', 'late answers']],
  ['rate-limited', ['refusal for the rate limit', 'refusals for the rate limit']],
]);
const otherCause = ['other fault', 'other faults'] as const;

/**
 * The faults that retries got over, most frequent first.
 *
 * @param retriesAfter how many retries followed an error of each code.
 * @example survivedFaults(new Map([['http', 2], ['network', 1]])) // '2 server errors, 1 lost connection'
 */
export function survivedFaults(retriesAfter: ReadonlyMap<string, number>): string {
  return [...retriesAfter]
    .sort(([, a], [, b]) => b - a)
    .map(([code, count]) => formatCount(count, ...(causes.get(code) ?? otherCause)))
    .join(', ');
}
