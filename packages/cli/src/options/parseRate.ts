import type { Limit } from '@sluice/core';
import { UsageError } from '../faults/usageError.js';

const msPerUnit: ReadonlyMap<string, number> = new Map([
  ['s', 1000],
  ['m', 60_000],
  ['h', 3_600_000],
]);

/** Requests in a window of `per` ms. */
export type Rate = Pick<Limit, 'requests' | 'per'>;

/**
 * A rate of requests; `false` for `unlimited`.
 *
 * @throws UsageError unless it is a whole number above zero, `/`, and `s`, `m` or `h`.
 * @example parseRate('25/s') // { requests: 25, per: 1000 }
 */
export function parseRate(text: string): Rate | false {
  const wanted = text.trim();
  if (wanted === 'unlimited') return false;
  const [, number, unit] = /^(\d{1,9})\/(s|m|h)$/.exec(wanted) ?? [];
  const requests = Number(number);
  const per = msPerUnit.get(unit ?? '');
  if (per === undefined || !(requests > 0))
    throw new UsageError('Give requests per second, minute or hour, like 25/s, 100/m or 3600/h, or unlimited.');
  return { requests, per };
}
