import type { ReplayCounts } from '@sluice/exporters/webhook';
import { formatCount, formatNumber } from '../terminal/formatNumber.js';

/** How far a replay is. @example '1,200 of 3,000 dead letters replayed, 3 refused again' */
export function replayProgress({ replayed, stillDead, left }: ReplayCounts): string {
  const again = stillDead === 0 ? '' : `, ${formatNumber(stillDead)} refused again`;
  return `${formatNumber(replayed)} of ${formatCount(replayed + left, 'dead letter')} replayed${again}`;
}

/** What a replay has left. @example '3 left (1 refused again, 2 behind one with their key)' */
export function replayRest({ stillDead, left }: ReplayCounts): string {
  if (left === 0) return 'none left';
  const held = left - stillDead;
  const why = [
    ...(stillDead > 0 ? [`${formatNumber(stillDead)} refused again`] : []),
    ...(held > 0 && stillDead > 0 ? [`${formatNumber(held)} behind one with ${held === 1 ? 'its' : 'their'} key`] : []),
  ];
  return `${formatNumber(left)} left${why.length === 0 ? '' : ` (${why.join(', ')})`}`;
}
