import { formatCount, formatDuration, formatNumber, formatTimeLeft } from '../terminal/format.js';
import { openingLine, resumedLine, summaryLine } from './messages.js';
import { type Progress, rowsPerSecond, timeLeft } from './progress.js';
import { otherCause, waitText } from './waits.js';
import { every, messageLines, type Reporter, type ReporterContext } from './reporter.js';

const lineEvery = 5000;

/** `--progress plain`: a line every five seconds, for logs. */
export function plainReporter({ output, clock, header, read }: ReporterContext): Reporter {
  const opening = openingLine(header);
  if (opening !== undefined) output.print(`${opening}\n`);
  const stop = every(clock, lineEvery, () => {
    output.print(`${plainLine(read())}\n`);
  });
  return {
    resumed: (resumed) => {
      output.print(`${resumedLine(resumed, header)}\n`);
    },
    ...messageLines(output),
    done: (summary) => {
      stop();
      if (summary) output.print(`${summaryLine(summary)}\n`);
    },
    ended: () => {
      stop();
      return false;
    },
  };
}

/** Progress as a line. @example '12,300 rows in 123 pages, 1,024 rows/s, 130 requests, 7 retries, waited 4.1 s' */
export function plainLine(progress: Progress): string {
  const { rows, total, pages, requests, retries, lastRetry, waited, wait, sent } = progress;
  const cause = otherCause(lastRetry, wait);
  const left = timeLeft(progress);
  const of = total === undefined ? '' : ` of ${formatNumber(total)}`;
  return [
    `${formatNumber(rows)}${of} ${rows === 1 && of === '' ? 'row' : 'rows'} in ${formatCount(pages, 'page')}`,
    `${formatNumber(rowsPerSecond(progress))} rows/s`,
    formatCount(requests, 'request'),
    ...(retries > 0
      ? [formatCount(retries, 'retry', 'retries') + (cause === undefined ? '' : ` (last: ${cause})`)]
      : []),
    ...(waited >= 100 ? [`waited ${formatDuration(waited)}`] : []),
    ...(wait ? [waitText(wait)] : []),
    ...(sent ? [formatCount(sent.deliveries, 'delivery', 'deliveries')] : []),
    ...(sent && sent.redeliveries > 0 ? [`${formatNumber(sent.redeliveries)} repeated`] : []),
    ...(left === undefined ? [] : [`about ${formatTimeLeft(left)} left`]),
  ].join(', ');
}
