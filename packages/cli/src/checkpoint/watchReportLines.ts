import { basename } from 'node:path';
import { formatBytes } from '../terminal/formatBytes.js';
import { formatCount, formatNumber } from '../terminal/formatNumber.js';
import { fileText, holderText, nextText, notTakenText, writtenText, type ReportLine } from './reportLines.js';
import type { WatchReport } from './watchReport.js';

/** The state of a watch, explained to a person. @param now ms since 1970. */
export function watchReportLines({ log, written, holder }: WatchReport, now: number): ReportLine[] {
  const { target, source, changes = 0, generation = 0, file, forwarded } = written ?? {};
  const isLost = 'isMissing' in log && generation > 0;
  return [
    ...(target === undefined ? [] : [['target', target] as const]),
    ...(source === undefined ? [] : [['source', source] as const]),
    ['known', knownText(log, isLost)],
    ...(written
      ? [
          [
            'kept',
            `${formatCount(changes, 'change')}, up to generation ${formatNumber(generation)}${forwarded ? notTakenText(forwarded) : ''}`,
          ] as const,
        ]
      : []),
    ...('isMissing' in log ? [] : [['written', writtenText(log.writtenAt, now)] as const]),
    ...(file ? [['file', fileText(file)] as const] : []),
    ...(holder ? [['in use', holderText(holder)] as const] : []),
    ['next', nextText({ ...(file && { file }), ...(holder && { holder }), isDamaged: isLost })],
  ];
}

function knownText(log: WatchReport['log'], isLost: boolean): string {
  const name = basename(log.path);
  if (isLost)
    return `${name} is not there any more, and with it what the watch knew; unless a program keeps that elsewhere`;
  return 'isMissing' in log
    ? 'nothing yet: no poll has succeeded'
    : `what the watch knows is in ${name} (${formatBytes(log.bytes)}); it reads it when it starts`;
}
