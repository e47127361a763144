import {
  exportTo,
  systemClock,
  type Client,
  type Clock,
  type ExportProgress,
  type ExportReport,
  type PageSource,
  type Sink,
} from '@sluice/core';
import type { Environment } from '../environment.js';
import { isClosedOutput } from '../faults/closedOutput.js';
import { exitCodeOf } from '../faults/exitCodeOf.js';
import { faultSentence } from '../faults/faultSentence.js';
import { Interruption } from '../faults/interruption.js';
import { scrubbed } from '../faults/scrubbed.js';
import { ToldFault } from '../faults/toldFault.js';
import type { ProgressMode } from '../options/progressMode.js';
import { formatCount } from '../terminal/formatNumber.js';
import { openReporter } from '../terminal/openReporter.js';
import type { Progress } from '../terminal/progress.js';
import { tallyRequests, type RequestTally } from './requestTally.js';
import { standardOutputName } from './rowSink.js';
import { warningsOf } from './warningsOf.js';

/** Options of every command that moves rows. */
export interface ProgressOptions {
  /** Default: a bar on a terminal, lines elsewhere. */
  readonly progress?: ProgressMode;
  /** Nothing but faults. */
  readonly quiet?: boolean;
}

/** What is moved where. */
export interface RowExport<T> {
  readonly client: Client;
  /** Called once the client is watched, so that its warnings are seen. */
  readonly source: () => PageSource<T>;
  readonly sink: Sink<T>;
  /** What people call the target. */
  readonly target: string;
  readonly format: string;
  readonly lanes?: number | undefined;
  readonly restart?: boolean | undefined;
  /** Rows can't be more than this, where somebody knows. */
  readonly mostRows?: number | undefined;
  /** Whether a line at the end says what came out. Default `true`. */
  readonly isSummedUp?: boolean;
}

/** What came of an export, and of its requests. */
export interface ExportOutcome {
  readonly report: ExportReport;
  readonly tally: RequestTally;
}

/**
 * Exports rows and shows how it goes on stderr. When the environment's signal aborts, the export closes and clears away first.
 *
 * @throws what the export raises; the Interruption, if a signal stopped it; ToldFault, if the fault was told as an event.
 */
export async function exportRows<T>(
  job: RowExport<T>,
  options: ProgressOptions,
  environment: Environment,
  clock: Clock = systemClock,
): Promise<ExportOutcome> {
  const { client, sink, target, format, lanes, restart, mostRows, isSummedUp = true } = job;
  const { stderr, signal, secrets } = environment;
  const tally = tallyRequests(client);
  const warnings = warningsOf(client);
  const source = job.source();
  const flow = exportTo(source, sink, { ...(lanes !== undefined && { lanes }), ...(restart && { restart }) });

  const began = clock.monotonic();
  let latest: ExportProgress = { isDone: false, rows: 0, pages: 0, resumedRows: 0 };
  const read = (): Progress => ({
    rows: latest.rows,
    pages: latest.pages,
    resumedRows: latest.resumedRows,
    total: leastOf(latest.total, mostRows),
    elapsed: clock.monotonic() - began,
    requests: tally.requests,
    retries: tally.retries,
    waited: tally.waited,
    pausedFor: client.limiter.pausedFor,
  });
  const begun = { source: source.info.name, target, format };
  const reporter = openReporter(modeFor(options, target, environment), { output: stderr, clock, begun, read });
  warnings.subscribe(reporter.warn);
  try {
    const report = await flow.run({
      signal,
      onProgress: (progress) => {
        latest = progress;
      },
    });
    const { rows, pages, bytes } = report;
    const { elapsed, retries } = read();
    reporter.done(isSummedUp ? { rows, pages, target, bytes, elapsed, retries } : undefined);
    return { report, tally };
  } catch (error) {
    const fault = error instanceof Interruption ? interruptedAfter(error, latest.rows, target) : error;
    const kind = fault instanceof Interruption || isClosedOutput(fault) ? 'stopped' : 'failed';
    const exitCode = exitCodeOf(fault);
    const isTold = reporter.ended({ kind, message: scrubbed(faultSentence(fault), secrets), exitCode });
    throw isTold ? new ToldFault(exitCode) : fault;
  }
}

function modeFor(
  { progress, quiet }: ProgressOptions,
  target: string,
  { stdout, stderr }: Environment,
): ProgressMode | 'silent' {
  if (quiet) return 'silent';
  if (progress !== undefined) return progress;
  // The rows themselves appear on the terminal: a bar would be drawn into them.
  if (target === standardOutputName && stdout.isTerminal) return 'none';
  return stderr.isTerminal ? 'bar' : 'plain';
}

function leastOf(total: number | undefined, mostRows = Infinity): number | undefined {
  const least = Math.min(total ?? Infinity, mostRows);
  return least === Infinity ? undefined : least;
}

function interruptedAfter({ signal }: Interruption, rows: number, target: string): Interruption {
  const came = formatCount(rows, 'row');
  const consequence =
    target === standardOutputName
      ? `The output ends early, after ${came}.`
      : `${came} had come; nothing was left half-written. Run the same command again to start over.`;
  return new Interruption(signal, consequence);
}
