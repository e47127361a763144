import { basename } from 'node:path';
import { formatBytes, formatCount, formatDuration, formatNumber } from '../../terminal/format.js';
import type {
  CheckpointReport,
  ForwardedPosition,
  PartFileState,
  ReportedHolder,
  StateReport,
  WatchReport,
} from './stateReport.js';

type ReportLine = readonly [label: string, text: string];

const maxPartitions = 8;

/** Explains the state of an export or a watch to people. @param now ms since 1970. */
export function reportLines(report: StateReport, now: number): ReportLine[] {
  return [...listLines(report, now)].flatMap(([label, text]) => (text === undefined ? [] : [[label, text] as const]));
}

/** A line without a text is left out. */
type Lines<Next = void> = Generator<readonly [label: string, text: string | undefined], Next>;

function* listLines(report: StateReport, now: number): Lines {
  const { table, holder } = report;
  const { target, source, madeWith = {} } = 'log' in report ? (report.written ?? {}) : report;
  const { command, ...settings } = madeWith;
  const named = Object.entries(settings).map(([name, value]) => `${name}: ${value}`);
  yield ['target', target];
  yield ['source', source];
  yield ['made', named.length === 0 ? undefined : `with ${named.join('; ')}`];
  yield ['command', command];
  const next = yield* 'log' in report ? watchLines(report, now) : exportLines(report, now);
  yield ['table', table && 'it no longer exists: somebody has dropped it'];
  yield ['in use', holder && holderText(holder)];
  yield ['next', next];
}

/** Returns what to do next. */
function* exportLines(report: CheckpointReport, now: number): Lines<string> {
  const { file, writtenAt, finishedAt, rows, pages } = report;
  if (finishedAt !== undefined) {
    yield ['finished', `${formatCount(rows, 'row')} in ${formatCount(pages, 'page')}, ${writtenText(finishedAt, now)}`];
    yield ['file', file && finishedFileText(file)];
    return afterFinish(report);
  }
  yield ['kept', progressText(report)];
  yield* partitionLines(report);
  yield ['written', writtenAt && writtenText(writtenAt, now)];
  yield ['file', file && fileText(file)];
  // What a service has received, and a target that only needs its name, are never given up.
  const mayBeTooOld = report.isRefreshed ?? (!report.forwarded && !report.isSealed);
  return nextText({ ...report, mayBeTooOld });
}

/** Returns what to do next. */
function* watchLines({ log, written, holder, table }: WatchReport, now: number): Lines<string> {
  const { changes = 0, generation = 0, file, forwarded } = written ?? {};
  const isLost = table !== undefined || ('isMissing' in log && generation > 0);
  const kept = `${formatCount(changes, 'change')}, up to generation ${formatNumber(generation)}`;
  yield ['known', knownText(log, isLost)];
  yield ['kept', written && `${kept}${forwarded ? notTakenText(forwarded) : ''}`];
  yield ['written', 'writtenAt' in log ? writtenText(log.writtenAt, now) : undefined];
  yield ['file', file && fileText(file)];
  return nextText({ file, holder, isDamaged: isLost });
}

function finishedFileText({ path, bytes = 0, keptBytes, fit }: PartFileState): string {
  const name = basename(path);
  if (fit === 'missing') return `${name} no longer exists`;
  return fit === 'exact' || fit === 'in-place'
    ? `${name} is in place, with all of its ${formatBytes(keptBytes)}`
    : `${name} was changed since: it has ${formatBytes(bytes)}, and had ${formatBytes(keptBytes)}`;
}

function afterFinish({ file, table, isRefreshed }: CheckpointReport): string {
  if (table || isRefreshed || file?.fit === 'missing') return 'The same command exports it again, from the start.';
  if (file?.fit === 'shorter' || file?.fit === 'longer')
    return 'The same command is refused, since the name is taken; with --if-exists overwrite it exports again, from the start.';
  const again = file ? '--if-exists overwrite' : '--restart';
  return `Nothing is left to do: the same command sends no request. With ${again} it exports again, from the start.`;
}

function writtenText(writtenAt: string, now: number): string {
  return `${formatDuration(Math.max(0, now - Date.parse(writtenAt)))} ago (${writtenAt})`;
}

function progressText({ rows, pages, isSealed, forwarded, file }: CheckpointReport): string {
  const kept = `${formatCount(rows, 'row')} in ${formatCount(pages, 'page')}`;
  if (forwarded) {
    const sent = `${kept} are sent${notTakenText(forwarded)}`;
    return isSealed ? `all ${sent}; only cleaning up is left` : `at least ${sent}`;
  }
  const last = file ? 'moving the file into place' : 'closing the target';
  return isSealed ? `${kept}: all there are; only ${last} is left` : kept;
}

function* partitionLines({ partitions: { total, finished, open }, isSealed }: CheckpointReport): Lines {
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
  mayBeTooOld = false,
  isDamaged = false,
}: Pick<CheckpointReport, 'file' | 'holder'> & {
  readonly mayBeTooOld?: boolean;
  readonly isDamaged?: boolean;
}): string {
  const isUnusable = isDamaged || file?.fit === 'shorter' || file?.fit === 'missing';
  const next = isUnusable
    ? 'The same command with --restart starts over; there is nothing to resume from.'
    : `Run the same command to resume, or with --restart to start over.${mayBeTooOld ? ' Later than --resume-within after the last commit, it begins a new run.' : ''}`;
  if (!holder) return next;
  return holder.isRunning
    ? `That process is running. Once it has stopped: ${next.charAt(0).toLowerCase()}${next.slice(1)}`
    : `If that process does not run any more, add --break-lock once. ${next}`;
}

function knownText(log: WatchReport['log'], isLost: boolean): string {
  if (!('path' in log)) {
    const where = 'table' in log ? `the table ${log.table}` : log.store;
    return `the snapshot of the watch is in ${where}, and is read when the watch starts`;
  }
  const name = basename(log.path);
  if (isLost)
    return `${name} no longer exists, and with it the snapshot of the watch, unless a program stores it elsewhere`;
  return 'isMissing' in log
    ? 'nothing yet: no poll has succeeded'
    : `the snapshot of the watch is in ${name} (${formatBytes(log.bytes)}), and is read when the watch starts`;
}
