import { UsageError } from '../faults/usageError.js';

/** Refuses a bound that several lanes would reach by chance. @throws UsageError. */
export function checkLanes({ maxRows, lanes = 1 }: { readonly maxRows?: number; readonly lanes?: number }): void {
  if (maxRows === undefined || lanes <= 1) return;
  throw new UsageError('--max-rows goes with --lanes 1 only: with several lanes it would be chance which rows come.');
}
