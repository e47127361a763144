import {
  type Client,
  type Clock,
  type ExportOptions,
  type ExportProgress,
  type ExportReport,
  exportTo,
  type PageSource,
  type Sink,
  systemClock,
} from '@sluice/core';
import type { Dashboard } from '@sluice/dashboard';
import { type Observable, ReplaySubject } from 'rxjs';
import type { Environment } from '../environment/environment.js';
import { type InterruptionReport, Interruption, ReportedError, UnfinishedExport } from '../errors/errors.js';
import { exitCodeOf, isClosedOutput } from '../errors/exitCode.js';
import { errorSentence } from '../errors/formatError.js';
import { redact, redactorFor } from '../errors/redact.js';
import type { GroupOptions } from '../options/options.js';
import { keptText, newsOf, resumedAt, summaryLine } from '../progress/messages.js';
import { type Notice, noticesOf } from '../progress/notices.js';
import { openReporter } from '../progress/openReporter.js';
import type { ProgressMode, Reporter } from '../progress/reporter.js';
import { timedSink } from '../progress/timedSink.js';
import { RequestWaits, TargetWait, type Wait } from '../progress/waits.js';
import { type Deliveries, type Progress, type RequestTally, tallyRequests } from '../progress/progress.js';
import { deadLetterSummary, type Forwarding, warnOfLetters } from '../target/deliveries.js';
import { pageOf } from '../source/dashboardPage.js';
import { type TargetKind, targetNouns } from '../target/target.js';
import { visibleText } from '../terminal/text.js';
import type { Resumption } from './resume.js';
import { standardOutputName } from './rowSink.js';

/** Warnings that are buffered until the export has started. */
const maxBuffered = 100;

interface RowExport<T> {
  readonly client: Client;
  /** Default: those of the client, from now on. */
  readonly notices?: Observable<Notice>;
  /** Called after the subscription to the client's events, so that no warning is missed. */
  readonly source: () => PageSource<T>;
  readonly sink: Sink<T>;
  /** The target's name in messages. */
  readonly target: string;
  /** Default: a file or stdout. */
  readonly kind?: TargetKind | undefined;
  readonly format: string;
  /** For a webhook only. */
  readonly forwarding?: Forwarding | undefined;
  readonly concurrency?: number | undefined;
  /** Absent: the export always starts over. */
  readonly resumption?: Resumption | undefined;
  /** A known upper bound of the rows. */
  readonly maxRows?: number | undefined;
  /** Only rows that are new since the last export. It needs a resumption. */
  readonly incremental?: ExportOptions['incremental'] | undefined;
  /** Whether it fails if the API lists fewer rows than it counts. Default `false`. */
  readonly requireTotal?: boolean | undefined;
  /** Whether the dashboard ends with it. Default `true`. */
  readonly isLast?: boolean;
  /** Whether to print a summary at the end. Default `true`. */
  readonly isSummedUp?: boolean;
}

export interface ExportOutcome {
  readonly report: ExportReport;
  readonly tally: RequestTally;
}

/**
 * Exports rows and shows the progress on stderr. When the environment's signal aborts, closes what is open first.
 *
 * @throws what the export raises, or the Interruption after a signal. Either is wrapped in an UnfinishedExport if there
 * is something to say about the rows. ReportedError if the reporter has already reported it.
 */
export async function exportRows<T>(
  job: RowExport<T>,
  options: GroupOptions<'progress'>,
  environment: Environment,
  clock: Clock = systemClock,
): Promise<ExportOutcome> {
  const { client, sink, target, kind, format, forwarding, concurrency, resumption, maxRows, isSummedUp = true } = job;
  const { isLast = true } = job;
  const { incremental, requireTotal } = job;
  const { stderr, signal, secrets, command } = environment;
  const tally = tallyRequests(client);
  const { notices = noticesOf(client) } = job;
  const exportWarnings = new ReplaySubject<string>(maxBuffered);
  const source = job.source();
  const onWarning = (message: string): void => {
    exportWarnings.next(visibleText(message));
  };
  const resuming = await resumption?.open(client, onWarning);
  const { state, ...exportOptions } = resuming?.exportOptions ?? { restart: true, onWarning };
  const targetWait = new TargetWait(clock, targetNouns[forwarding ? 'webhook' : (kind ?? 'file')], () => {
    return forwarding?.tally.repeatedAfter;
  });
  const flow = exportTo(source, timedSink(sink, targetWait), {
    ...(concurrency !== undefined && { concurrency }),
    ...(incremental && { incremental }),
    ...(requireTotal !== undefined && { requireTotal }),
    ...exportOptions,
    ...(state && !sink.state && { state }),
    clock,
  });

  const requestWaits = new RequestWaits(client, clock);
  const waitNow = (): Wait | undefined =>
    signal.aborted ? { kind: 'stopping' } : (targetWait.current() ?? requestWaits.current());
  const began = clock.monotonic();
  let latest: ExportProgress | undefined;
  const read = (): Progress => {
    const wait = waitNow();
    const { lastRetry } = requestWaits;
    return {
      ...countsNow(),
      ...(wait && { wait }),
      ...(lastRetry !== undefined && { lastRetry }),
    };
  };
  const countsNow = (): Progress => ({
    rows: latest?.rows ?? 0,
    pages: latest?.pages ?? 0,
    resumedRows: latest?.resumedRows ?? 0,
    total: minOf(latest?.total, maxRows),
    elapsed: clock.monotonic() - began,
    requests: tally.requests,
    retries: tally.retries,
    waited: tally.waited,
    ...(forwarding && { sent: sentOf(forwarding) }),
  });
  const header = {
    source: source.info.name,
    target,
    format,
    ...(forwarding && { state: forwarding.state, deadLetterFile: forwarding.deadLetters }),
    ...(sink.state && { keepsState: true as const }),
    ...(kind === 'sink' && resumption && !sink.state && { state: resumption.stateName }),
  };
  const page = pageOf(client);
  const { partitions } = source.info;
  page?.show({
    kind: forwarding ? 'forward' : 'export',
    title: source.info.name,
    target: redact(target, secrets),
    ...(partitions !== Infinity && partitions > 1 && { partitions }),
    ...(maxRows !== undefined && { expectedRows: maxRows }),
  });
  const mode = modeFor(options, target, environment);
  const reporter = await openReporter(mode, { output: stderr, clock, header, read });
  notices.subscribe(({ level, message }) => {
    if (level === 'info') reporter.info(message);
    else reporter.warn(message);
  });
  if (forwarding) warnOfLetters(forwarding, reporter.warn, secrets);
  const cancelStopNotice = noticeOfStop(signal, clock, reporter.info);
  try {
    const report = await flow.run({
      signal,
      onProgress: (progress) => {
        const isFirst = latest === undefined;
        latest = progress;
        if (!isFirst) return;
        if (resuming?.committed.found) {
          reporter.resumed(resumedAt(resuming.committed.found));
          page?.show({ resumedRows: resuming.committed.found.rows });
        }
        // Not earlier: these warnings would confuse if the export were refused.
        exportWarnings.subscribe(reporter.warn);
      },
    });
    cancelStopNotice();
    const { rows, pages, resumedRows, bytes, finishedAt, rowsNotRemoved = 0 } = report;
    // The export was already finished, so there was no progress event.
    if (finishedAt !== undefined) latest = { ...report, isDone: false };
    const { elapsed, retries, sent } = read();
    const deadLetters = forwarding && report.deadLetters && { ...report.deadLetters, path: forwarding.deadLetters };
    const summary = {
      rows,
      pages,
      resumedRows,
      target,
      bytes,
      elapsed,
      retries,
      again: kind === 'file' ? '--if-exists overwrite' : '--restart',
      isIncrement: incremental !== undefined && (incremental === true || incremental.full !== true),
      ...(finishedAt !== undefined && { finishedAt }),
      ...(report.isIncomplete && { isIncomplete: true }),
      ...(rowsNotRemoved > 0 && { rowsNotRemoved }),
      ...(report.shortOfTotal && { shortOfTotal: report.shortOfTotal }),
    };
    if (isLast) page?.end({ outcome: 'finished', message: redact(summaryLine(summary), secrets) });
    // It may also be that of its parents, which the report does not have.
    const isTotalInTheWay = rowsNotRemoved > 0 && !report.isIncomplete && maxRows === undefined;
    if (isTotalInTheWay) reporter.warn(keptText(visibleText(target), rowsNotRemoved, true));
    reporter.done(
      isSummedUp
        ? { ...summary, ...(sent && { redeliveries: sent.redeliveries }), ...(deadLetters && { deadLetters }) }
        : undefined,
    );
    // Even with --quiet: nothing else says so then.
    const news = mode === 'silent' ? [...newsOf(report, visibleText(target), isTotalInTheWay)] : [];
    if (mode === 'silent' && finishedAt !== undefined) news.push(summaryLine(summary));
    for (const sentence of news) stderr.print(`sluice: ${redact(sentence, secrets)}\n`);
    // Even with --quiet: these records did not arrive.
    if (deadLetters && mode !== 'json')
      stderr.print(`sluice: ${deadLetterSummary(deadLetters.count, deadLetters.path, command)}\n`);
    return { report, tally };
  } catch (error) {
    cancelStopNotice();
    // Loaded on demand: a completed export does not need it.
    const { exportInterruption } = await import('./interruptedExport.js');
    const interruptionReport = exportInterruption({ error, target, latest, resuming, forwarding });
    return endEarly({ error, interruptionReport }, reporter, environment, page);
  }
}

/** A stop that takes longer than this is explained, in ms. */
const quickStop = 500;

/** Explains a stop that takes a while. Returns a function that cancels this. */
function noticeOfStop(signal: AbortSignal, clock: Clock, show: (message: string) => void): () => void {
  let cancelTimer = (): void => undefined;
  const onAbort = (): void => {
    cancelTimer = clock.after(quickStop, () => {
      show('Stopping: the rows that are fetched are committed first. A second signal (Ctrl+C) ends it at once.');
    });
  };
  signal.addEventListener('abort', onAbort, { once: true });
  return () => {
    signal.removeEventListener('abort', onAbort);
    cancelTimer();
  };
}

function sentOf({ tally: { deliveries, redeliveries } }: Forwarding): Deliveries {
  return { deliveries, redeliveries };
}

function modeFor(
  { progress, quiet }: GroupOptions<'progress'>,
  target: string,
  { stdout, stderr }: Environment,
): ProgressMode | 'silent' {
  if (quiet) return 'silent';
  if (progress !== undefined) return progress;
  // The rows appear on the terminal, where a bar would overwrite them.
  if (target === standardOutputName && stdout.isTerminal) return 'none';
  return stderr.isTerminal ? 'bar' : 'plain';
}

function minOf(total: number | undefined, maxRows = Infinity): number | undefined {
  const min = Math.min(total ?? Infinity, maxRows);
  return min === Infinity ? undefined : min;
}

interface EarlyEnd {
  readonly error: unknown;
  readonly interruptionReport: InterruptionReport | undefined;
}

/** Lets the reporter report an early end, and throws: a ReportedError, or else the error for the caller to report. */
export function endEarly(
  { error, interruptionReport: consequences }: EarlyEnd,
  reporter: Pick<Reporter, 'ended'>,
  { secrets, hasFlag }: Pick<Environment, 'secrets' | 'hasFlag'>,
  page?: Dashboard,
): never {
  const kind = error instanceof Interruption || isClosedOutput(error) ? 'stopped' : 'failed';
  const exitCode = exitCodeOf(error);
  const interruptionReport = isClosedOutput(error) ? undefined : consequences;
  const fullError = interruptionReport ? new UnfinishedExport(error, interruptionReport) : error;
  const { command, keptRows } = interruptionReport ?? {};
  const message = errorSentence(fullError, hasFlag) + (command === undefined ? '' : ` ${command}`);
  const redacted = redactorFor(error)(message, secrets);
  page?.end({ outcome: kind, message: redacted });
  const isReported = reporter.ended({
    kind,
    message: redacted,
    exitCode,
    ...(keptRows !== undefined && { keptRows }),
    ...(command !== undefined && { resume: redact(command, secrets) }),
  });
  throw isReported ? new ReportedError(exitCode) : fullError;
}
