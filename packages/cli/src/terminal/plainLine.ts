import { formatDuration, formatTimeLeft } from './formatDuration.js';
import { formatCount, formatNumber } from './formatNumber.js';
import { rowsPerSecond, timeLeft, type Progress } from './progress.js';

/** Progress as a line of a log. @example '12,300 rows in 123 pages, 1,024 rows/s, 130 requests, 7 retries, waited 4.1 s' */
export function plainLine(progress: Progress): string {
  const { rows, total, pages, requests, retries, waited, pausedFor, sent } = progress;
  const left = timeLeft(progress);
  const of = total === undefined ? '' : ` of ${formatNumber(total)}`;
  return [
    `${formatNumber(rows)}${of} ${rows === 1 && of === '' ? 'row' : 'rows'} in ${formatCount(pages, 'page')}`,
    `${formatNumber(rowsPerSecond(progress))} rows/s`,
    formatCount(requests, 'request'),
    ...(retries > 0 ? [formatCount(retries, 'retry', 'retries')] : []),
    ...(waited >= 100 ? [`waited ${formatDuration(waited)}`] : []),
    ...(pausedFor > 0 ? [`paused for ${formatDuration(pausedFor)}`] : []),
    ...(sent ? [formatCount(sent.deliveries, 'delivery', 'deliveries')] : []),
    ...(sent && sent.redeliveries > 0 ? [`${formatNumber(sent.redeliveries)} repeated`] : []),
    ...(left === undefined ? [] : [`about ${formatTimeLeft(left)} left`]),
  ].join(', ');
}
