import type { BudgetUse } from '@sluice/core/kit';
import { formatCount, formatDuration, formatNumber, formatTime } from '../terminal/format.js';

/**
 * Says when a run ends that its budget holds up; `undefined` if enough is left. It assumes that nobody else uses the
 * budget, and that what is used returns evenly until all of it has.
 *
 * @param requests that are still to be sent.
 * @param now wall time in ms.
 */
export function budgetForecast(requests: number, budget: BudgetUse, now: number): string | undefined {
  const { left, limit, per, allIn, returnsIn } = budget;
  const missing = requests - left;
  if (missing <= 0) return undefined;
  // All of it returns once in each window; of the last one, as much as is missing.
  const windows = Math.ceil(missing / limit) - 1;
  const share = Math.min(1, (missing - windows * limit) / Math.max(1, limit - left));
  const wait = windows * per + returnsIn + share * Math.max(0, allIn - returnsIn);
  const end = formatTime(new Date(now + wait)).slice(0, -3);
  return `About ${formatCount(requests, 'request')}, ${formatNumber(left)} of ${formatNumber(limit)} in ${formatDuration(per)} left: ends about ${end}.`;
}
