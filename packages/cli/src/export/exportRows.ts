import {
  type Client,
  type Clock,
  type ExportProgress,
  type ExportReport,
  exportTo,
  type PageSource,
  type Sink,
  systemClock,
} from '@sluice/core';
import { type Observable, ReplaySubject } from 'rxjs';
import type { Environment } from '../environment/environment.js';
import { type InterruptionReport, Interruption, ReportedError, UnfinishedExport } from '../errors/errors.js';
import { exitCodeOf, isClosedOutput } from '../errors/exitCode.js';
import { errorSentence } from '../errors/formatError.js';
import { scrubbed, scrubberOf } from '../errors/redact.js';
import type { GroupOptions } from '../options/commandOptions.js';
import { resumedAt } from '../progress/messages.js';
import { type Notice, noticesOf } from '../progress/notices.js';
import { openReporter } from '../progress/openReporter.js';
import type { ProgressMode, Reporter } from '../progress/reporter.js';
import {
  type RunHeader,
  type Deliveries,
  type Progress,
  type RequestTally,
  tallyRequests,
} from '../progress/progress.js';
import { deadLetterSummary, type Forwarding, warnOfLetters } from '../target/deliveries.js';
import type { TargetKind } from '../target/target.js';
import { visibleText } from '../terminal/text.js';
import type { Resumption } from './resume.js';
import { standardOutputName } from './rowSink.js';

/** Warnings that are kept back until the export has begun. */
const maxKeptBack = 100;

/** What is moved where. */
interface RowExport<T> {
  readonly client: Client;
  /** What the client has to say. Default: from the moment on that the export is made. */
  readonly notices?: Observable<Notice>;
  /** Called once the client is watched, so that its warnings are seen. */
  readonly source: () => PageSource<T>;
  readonly sink: Sink<T>;
  /** What people call the target. */
  readonly target: string;
  /** Default: a file, or stdout. */
  readonly kind?: TargetKind | undefined;
  readonly format: string;
  /** Where it is a webhook. */
  readonly forwarding?: Forwarding | undefined;
  readonly concurrency?: number | undefined;
  /** How it resumes after an interruption. Absent: it starts over each time, whatever an earlier run left behind. */
  readonly resumption?: Resumption | undefined;
  /** Rows can't be more than this, where somebody knows. */
  readonly maxRows?: number | undefined;
  /** Whether a line at the end says what came out. Default `true`. */
  readonly isSummedUp?: boolean;
}

/** What came of an export, and of its requests. */
export interface ExportOutcome {
  readonly report: ExportReport;
  readonly tally: RequestTally;
}

/**
 * Exports rows and shows the progress on stderr. When the environment's signal aborts, the export closes what is open first.
 *
 * @throws what the export raises, or the Interruption if a signal stopped it, as an UnfinishedExport where something is to be said of
 * the rows; ReportedError, if it was told as an event.
 */
export async function exportRows<T>(
  job: RowExport<T>,
  options: GroupOptions<'progress'>,
  environment: Environment,
  clock: Clock = systemClock,
): Promise<ExportOutcome> {
  const { client, sink, target, kind, format, forwarding, concurrency, resumption, maxRows, isSummedUp = true } = job;
  const { stderr, signal, secrets, command } = environment;
  const tally = tallyRequests(client);
  const { notices = noticesOf(client) } = job;
  const exportWarnings = new ReplaySubject<string>(maxKeptBack);
  const source = job.source();
  const resuming = await resumption?.open(client, (message) => {
    exportWarnings.next(visibleText(message));
  });
  const flow = exportTo(source, sink, {
    ...(concurrency !== undefined && { concurrency }),
    ...(resuming?.exportOptions ?? { restart: true }),
  });

  const began = clock.monotonic();
  let latest: ExportProgress | undefined;
  const read = (): Progress => ({
    rows: latest?.rows ?? 0,
    pages: latest?.pages ?? 0,
    resumedRows: latest?.resumedRows ?? 0,
    total: minOf(latest?.total, maxRows),
    elapsed: clock.monotonic() - began,
    requests: tally.requests,
    retries: tally.retries,
    waited: tally.waited,
    pausedFor: client.limiter.pausedFor,
    ...(forwarding && { sent: sentOf(forwarding) }),
  });
  const header = {
    ...{ source: source.info.name, target, format },
    ...(forwarding && headerOf(forwarding)),
    ...(kind === 'sink' && resumption && { state: resumption.sinkPosition }),
  };
  const mode = modeFor(options, target, environment);
  const reporter = await openReporter(mode, { output: stderr, clock, header, read });
  notices.subscribe(({ level, message }) => {
    if (level === 'info') reporter.info(message);
    else reporter.warn(message);
  });
  if (forwarding) warnOfLetters(forwarding, reporter.warn, secrets);
  try {
    const report = await flow.run({
      signal,
      onProgress: (progress) => {
        const isFirst = latest === undefined;
        latest = progress;
        if (!isFirst) return;
        if (resuming?.kept.found) reporter.resumed(resumedAt(resuming.kept.found));
        // Not before: what they say of the rows means nothing for an export that is refused.
        exportWarnings.subscribe(reporter.warn);
      },
    });
    const { rows, pages, resumedRows, bytes, finishedAt } = report;
    // There was no progress to tell of.
    if (finishedAt !== undefined) latest = { ...report, isDone: false };
    const { elapsed, retries, sent } = read();
    const deadLetters = forwarding && report.deadLetters && { ...report.deadLetters, path: forwarding.deadLetters };
    const summary = {
      ...{ rows, pages, resumedRows, target, bytes, elapsed, retries },
      ...(finishedAt !== undefined && { finishedAt }),
    };
    reporter.done(
      isSummedUp
        ? { ...summary, ...(sent && { redeliveries: sent.redeliveries }), ...(deadLetters && { deadLetters }) }
        : undefined,
    );
    // Also where only faults are wanted: these records did not arrive.
    if (deadLetters && mode !== 'json')
      stderr.tell(`sluice: ${deadLetterSummary(deadLetters.count, deadLetters.path, command)}\n`);
    return { report, tally };
  } catch (fault) {
    // An export that is through does not pay for loading this.
    const { exportInterruption } = await import('./interruptedExport.js');
    const interruptionReport = exportInterruption({ fault, target, latest, resuming, forwarding });
    return endEarly({ fault, interruptionReport }, reporter, environment);
  }
}

function sentOf({ tally: { deliveries, redeliveries } }: Forwarding): Deliveries {
  return { deliveries, redeliveries };
}

function headerOf({ state, deadLetters }: Forwarding): Pick<RunHeader, 'state' | 'deadLetterFile'> {
  return { state, deadLetterFile: deadLetters };
}

function modeFor(
  { progress, quiet }: GroupOptions<'progress'>,
  target: string,
  { stdout, stderr }: Environment,
): ProgressMode | 'silent' {
  if (quiet) return 'silent';
  if (progress !== undefined) return progress;
  // The rows themselves appear on the terminal: a bar would be drawn into them.
  if (target === standardOutputName && stdout.isTerminal) return 'none';
  return stderr.isTerminal ? 'bar' : 'plain';
}

function minOf(total: number | undefined, maxRows = Infinity): number | undefined {
  const min = Math.min(total ?? Infinity, maxRows);
  return min === Infinity ? undefined : min;
}

/** An end before the end, and what it leaves behind, if there is something to say of that. */
interface EarlyEnd {
  readonly fault: unknown;
  readonly interruptionReport: InterruptionReport | undefined;
}

/** Tells an early end as an event, if that is how it goes; else leaves the telling to whoever catches the fault. It always throws. */
export function endEarly(
  { fault, interruptionReport: consequences }: EarlyEnd,
  reporter: Pick<Reporter, 'ended'>,
  { secrets }: Pick<Environment, 'secrets'>,
): never {
  const kind = fault instanceof Interruption || isClosedOutput(fault) ? 'stopped' : 'failed';
  const exitCode = exitCodeOf(fault);
  const interruptionReport = isClosedOutput(fault) ? undefined : consequences;
  const whole = interruptionReport ? new UnfinishedExport(fault, interruptionReport) : fault;
  const { command, keptRows } = interruptionReport ?? {};
  const message = errorSentence(whole) + (command === undefined ? '' : ` ${command}`);
  const isReported = reporter.ended({
    kind,
    message: scrubberOf(fault)(message, secrets),
    exitCode,
    ...(keptRows !== undefined && { keptRows }),
    ...(command !== undefined && { resume: scrubbed(command, secrets) }),
  });
  throw isReported ? new ReportedError(exitCode) : whole;
}
