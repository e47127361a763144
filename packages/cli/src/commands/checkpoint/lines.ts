import { basename } from 'node:path';
import { formatBytes, formatCount, formatDuration, formatNumber } from '../../terminal/format.js';
import type { CheckpointReport, ForwardedPosition, PartFileState, ReportedHolder } from './checkpointReport.js';
import type { WatchReport } from './watchReport.js';

type ReportLine = readonly [label: string, text: string];

const maxPartitions = 8;

/** Explains a checkpoint to people. @param now ms since 1970. */
export function reportLines(report: CheckpointReport, now: number): ReportLine[] {
  const { target, source, file, writtenAt, holder, finishedAt } = report;
  if (finishedAt !== undefined) return finishedLines(report, finishedAt, now);
  return [
    ...(target === undefined ? [] : [['target', target] as const]),
    ['source', source],
    ['kept', keptText(report)],
    ...partitionLines(report),
    ...(writtenAt === undefined ? [] : [['written', writtenText(writtenAt, now)] as const]),
    ...(file ? [['file', fileText(file)] as const] : []),
    ...(holder ? [['in use', holderText(holder)] as const] : []),
    ['next', nextText(report)],
  ];
}

function finishedLines(
  { target, source, rows, pages, file, holder, table, isRefreshed }: CheckpointReport,
  finishedAt: string,
  now: number,
): ReportLine[] {
  return [
    ...(target === undefined ? [] : [['target', target] as const]),
    ['source', source],
    ['finished', `${formatCount(rows, 'row')} in ${formatCount(pages, 'page')}, ${writtenText(finishedAt, now)}`],
    ...(file ? [['file', finishedFileText(file)] as const] : []),
    ...(table ? [missingTable] : []),
    ...(holder ? [['in use', holderText(holder)] as const] : []),
    ['next', table || isRefreshed ? exportedAgain : afterFinish(file)],
  ];
}

function finishedFileText({ path, bytes = 0, keptBytes, fit }: PartFileState): string {
  const name = basename(path);
  if (fit === 'missing') return `${name} no longer exists`;
  return fit === 'exact' || fit === 'in-place'
    ? `${name} is in place, with all of its ${formatBytes(keptBytes)}`
    : `${name} was changed since: it has ${formatBytes(bytes)}, and had ${formatBytes(keptBytes)}`;
}

const missingTable: ReportLine = ['table', 'it no longer exists: somebody has dropped it'];
const exportedAgain = 'The same command exports it again, from the start.';

function afterFinish(file: PartFileState | undefined): string {
  if (file?.fit === 'missing') return exportedAgain;
  if (file?.fit === 'shorter' || file?.fit === 'longer')
    return 'The same command is refused, since the name is taken; with --if-exists overwrite it exports again, from the start.';
  const again = file ? '--if-exists overwrite' : '--restart';
  return `Nothing is left to do: the same command sends no request. With ${again} it exports again, from the start.`;
}

function writtenText(writtenAt: string, now: number): string {
  return `${formatDuration(Math.max(0, now - Date.parse(writtenAt)))} ago (${writtenAt})`;
}

function keptText({ rows, pages, isSealed, forwarded, file }: CheckpointReport): string {
  const kept = `${formatCount(rows, 'row')} in ${formatCount(pages, 'page')}`;
  if (forwarded) {
    const sent = `${kept} are sent${notTakenText(forwarded)}`;
    return isSealed ? `all ${sent}; only cleaning up is left` : `at least ${sent}`;
  }
  const last = file ? 'moving the file into place' : 'closing the target';
  return isSealed ? `${kept}: all there are; only ${last} is left` : kept;
}

function* partitionLines({ partitions: { total, finished, open }, isSealed }: CheckpointReport): Generator<ReportLine> {
  if (isSealed || total === 1) return;
  yield [
    'plan',
    `${formatNumber(finished)}${total === undefined ? '' : ` of ${formatNumber(total)}`} partitions finished, ${formatNumber(open.length)} open`,
  ];
  for (const { partition, pages, rows } of open.slice(0, maxPartitions))
    yield ['', `partition ${formatNumber(partition)}: ${formatCount(rows, 'row')} in ${formatCount(pages, 'page')}`];
  if (open.length > maxPartitions) yield ['', `and ${formatNumber(open.length - maxPartitions)} more`];
}

/** How many records the webhook refused, to follow the total. */
function notTakenText({ deadLetters }: ForwardedPosition): string {
  return deadLetters === 0 ? '' : `, ${formatNumber(deadLetters)} of them not taken`;
}

function fileText({ path, bytes = 0, keptBytes, fit }: PartFileState): string {
  const name = basename(path);
  switch (fit) {
    case 'exact':
      return `${name} has exactly the ${formatBytes(keptBytes)} that were committed`;
    case 'longer':
      return `${name} has ${formatCount(bytes - keptBytes, 'byte')} beyond the ${formatBytes(keptBytes)} that were committed; a resumed run truncates them`;
    case 'shorter':
      return `${name} is damaged: it is ${formatCount(keptBytes - bytes, 'byte')} shorter than the ${formatBytes(keptBytes)} that were committed`;
    case 'missing':
      return `${name} is damaged: it no longer exists, though ${formatBytes(keptBytes)} were committed`;
    case 'in-place':
      return `${name.replace(/\.part$/, '')} is in place already, with all of its ${formatBytes(keptBytes)}`;
  }
}

function holderText({ pid, host, isRunning }: ReportedHolder): string {
  const who =
    pid === undefined
      ? 'a process that left no readable name'
      : `process ${String(pid)}${host === undefined ? '' : ` on ${host}`}`;
  return `by ${who}, ${isRunning ? 'which is running' : 'and whether it still runs is unknown'}`;
}

/** What to do next. @param isDamaged whether something other than the file is missing. */
function nextText({
  file,
  holder,
  isRefreshed,
  isDamaged = false,
}: Pick<CheckpointReport, 'file' | 'holder' | 'isRefreshed'> & { readonly isDamaged?: boolean }): string {
  const isUnusable = isDamaged || file?.fit === 'shorter' || file?.fit === 'missing';
  const next = isUnusable
    ? 'The same command with --restart starts over; there is nothing to resume from.'
    : `Run the same command to resume, or with --restart to start over.${isRefreshed ? ' Later than --resume-within after the last commit, it begins a new run.' : ''}`;
  if (!holder) return next;
  return holder.isRunning
    ? `That process is running. Once it has stopped: ${next.charAt(0).toLowerCase()}${next.slice(1)}`
    : `If that process does not run any more, add --break-lock once. ${next}`;
}

/** Explains the state of a watch to people. @param now ms since 1970. */
export function watchReportLines({ log, written, holder, table }: WatchReport, now: number): ReportLine[] {
  const { target, source, changes = 0, generation = 0, file, forwarded } = written ?? {};
  const isLost = table !== undefined || ('isMissing' in log && generation > 0);
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
    ...('writtenAt' in log ? [['written', writtenText(log.writtenAt, now)] as const] : []),
    ...(file ? [['file', fileText(file)] as const] : []),
    ...(table ? [missingTable] : []),
    ...(holder ? [['in use', holderText(holder)] as const] : []),
    ['next', nextText({ ...(file && { file }), ...(holder && { holder }), isDamaged: isLost })],
  ];
}

function knownText(log: WatchReport['log'], isLost: boolean): string {
  if ('table' in log)
    return `the snapshot of the watch is in the table ${log.table}, and is read when the watch starts`;
  const name = basename(log.path);
  if (isLost)
    return `${name} no longer exists, and with it the snapshot of the watch, unless a program stores it elsewhere`;
  return 'isMissing' in log
    ? 'nothing yet: no poll has succeeded'
    : `the snapshot of the watch is in ${name} (${formatBytes(log.bytes)}), and is read when the watch starts`;
}
