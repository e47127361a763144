import { basename } from 'node:path';
import { formatBytes } from '../terminal/formatBytes.js';
import { formatCount, formatNumber } from '../terminal/formatNumber.js';
import { fileText, holderText, nextText, writtenText, type ReportLine } from './reportLines.js';
import type { WatchReport } from './watchReport.js';

/** The state of a watch, explained to a person. @param now ms since 1970. */
export function watchReportLines({ log, written, holder }: WatchReport, now: number): ReportLine[] {
  const { target, source, changes = 0, generation = 0, file } = written ?? {};
  return [
    ...(target === undefined ? [] : [['target', target] as const]),
    ...(source === undefined ? [] : [['source', source] as const]),
    [
      'known',
      `what the watch knows is in ${basename(log.path)} (${formatBytes(log.bytes)}); it reads it when it starts`,
    ],
    ...(written
      ? [['kept', `${formatCount(changes, 'change')}, up to generation ${formatNumber(generation)}`] as const]
      : []),
    ['written', writtenText(log.writtenAt, now)],
    ...(file ? [['file', fileText(file)] as const] : []),
    ...(holder ? [['in use', holderText(holder)] as const] : []),
    ['next', nextText({ ...(file && { file }), ...(holder && { holder }) })],
  ];
}
