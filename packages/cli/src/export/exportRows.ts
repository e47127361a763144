import {
  type Client,
  type ExportOptions,
  type ExportProgress,
  type ExportReport,
  type Json,
  type Limit,
  type LimiterState,
  exportTo,
  type Sink,
  systemClock,
} from '@sluice/core';
import { defaultLimit, type PageSource } from '@sluice/core/kit';
import { delay, fromEvent, type Observable, type Subscription } from 'rxjs';
import type { Environment } from '../environment/environment.js';
import { redact } from '../errors/redact.js';
import type { GroupOptions } from '../options/options.js';
import { budgetForecast } from '../progress/budgetForecast.js';
import { countFields, type Progress, plainLine, progressFields } from '../progress/exportProgress.js';
import { type Notice, followNotices } from '../progress/notices.js';
import { rateAdvice } from '../progress/rateAdvice.js';
import type { ProgressMode } from '../progress/reporter.js';
import { readField } from '../source/decodeRecords.js';
import type { Target, TargetKind } from '../target/target.js';
import { visibleText } from '../terminal/text.js';
import { countDone, newsOf, notRemovedText, resumedAt, resumedLine, summaryLine } from './messages.js';
import { judgeTimeUp, type Resumption } from './resume.js';
import { openFrame, printDeadLetters, withRun } from './withRun.js';

/** What is exported, and where to. */
export interface RowExport<T> {
  readonly client: Client;
  /** Default: those of the client, from now on. */
  readonly notices?: Observable<Notice>;
  /** Called after the subscription to the client's events, so that no warning is missed. */
  readonly source: () => PageSource<T>;
  readonly sink: Sink<T>;
  readonly target: Pick<Target<T>, 'kind' | 'name' | 'format' | 'forwarding'>;
  /** An increment needs a resumption. */
  readonly exportOptions?: Pick<ExportOptions, 'concurrency' | 'incremental' | 'requireTotal' | 'repeats' | 'madeWith'>;
  /** Absent: the export always starts over. */
  readonly resumption?: Resumption | undefined;
  /** A known upper bound of the rows. */
  readonly maxRows?: number | undefined;
  /** What the partitions are, if there are as many; otherwise they are groups of these. */
  readonly parts?: { readonly one: string; readonly count: number } | undefined;
  /** The value of `--rate`; absent if the command has none. */
  readonly limit?: { readonly rate: Limit | false | undefined };
  /** Whether the dashboard ends with it. Default `true`. */
  readonly isLast?: boolean;
  /** Whether to print a summary at the end. Default `true`. */
  readonly isSummedUp?: boolean;
}

export interface ExportOutcome {
  readonly report: ExportReport;
  readonly retries: number;
  /** Wall time in which the rate held it up, in ms. */
  readonly waited: number;
}

/** Exports rows and shows the progress on stderr. When the environment's signal aborts, closes what is open first. */
export async function exportRows<T>(
  job: RowExport<T>,
  options: GroupOptions<'progress'>,
  environment: Environment,
): Promise<ExportOutcome> {
  const { client, sink, target, exportOptions, resumption, maxRows, limit, isLast = true, isSummedUp = true } = job;
  const { name, kind, forwarding } = target;
  const { stderr, signal, secrets } = environment;
  const parallel = limit?.rate === undefined ? defaultLimit.concurrency : undefined;
  const notices = job.notices ?? followNotices(client);
  const frame = openFrame({ client, notices, target, parallel, rows: 'rows' }, environment);
  const source = job.source();
  const resuming = await resumption?.open(client, frame.onWarning);
  const { state, ...resumeOptions } = resuming?.exportOptions ?? { restart: true, onWarning: frame.onWarning };
  const flow = exportTo(source, sink, {
    ...exportOptions,
    ...resumeOptions,
    state: sink.state ? undefined : state,
  });
  const began = systemClock.monotonic();
  let latest: ExportProgress | undefined;
  const { partitions } = (source.fit?.(exportOptions?.concurrency ?? 1).source ?? source).info;
  const [one, noun] = nounFor(partitions, job.parts);
  /** A resumed run has those of its checkpoint. */
  let of = partitions;
  let doneBefore = 0;
  const read = (): Progress => {
    const run = frame.look();
    return {
      ...run,
      rows: latest?.rows ?? 0,
      pages: latest?.pages ?? 0,
      resumedRows: latest?.resumedRows ?? 0,
      total: boundTotal(latest?.total, maxRows),
      partitions: of === Infinity || of <= 1 ? undefined : { done: doneBefore + run.partitionsDone, of, noun },
      elapsed: systemClock.monotonic() - began,
      wait: signal.aborted ? { kind: 'stopping' } : run.wait,
      sent: forwarding && run,
    };
  };
  const mode = modeFor(options, kind, environment);
  // Loaded on demand: only terminals have a bar.
  const bar = mode === 'bar' ? (await import('../progress/progressLine.js')).progressLine : undefined;
  const shown = {
    mode,
    header: { source: source.info.name },
    state: kind === 'sink' && !sink.state ? resumption?.stateName : undefined,
    about: {
      kind: forwarding ? 'forward' : 'export',
      ...(partitions !== Infinity && partitions > 1 && { partitions }),
      partitionNoun: [one, noun],
      ...(maxRows !== undefined && { expectedRows: maxRows }),
    } as const,
    counts: () => countFields(read()),
    progress: { fields: () => progressFields(read()), line: () => plainLine(read()) },
    bar: bar && ((space: Parameters<typeof bar>[1]) => bar(read(), space)),
    interruption: async (error: unknown) => {
      // Loaded on demand: a completed export does not need it. An upgrade of the package may have replaced it meanwhile.
      const loaded = await import('./interruptedExport.js').catch(() => undefined);
      const total = latest?.total === undefined ? undefined : boundTotal(latest.total, maxRows);
      return loaded?.exportInterruption({ error, target, latest, total, resuming, ...frame.look() });
    },
  };
  return withRun(frame, shown, async ({ reporter, page, showWarnings }) => {
    const onBegin = (): void => {
      const found = resuming?.committed.found;
      if (found) {
        const resumed = resumedAt(found);
        reporter.report('resumed', resumed, [resumedLine(resumed, kind)]);
        doneBefore = countDone(found.position);
        of = found.partitions ?? of;
        page?.show({
          resumedRows: found.rows,
          resumedPartitions: doneBefore,
          ...(found.partitions && { partitions: found.partitions }),
        });
      }
      showWarnings();
    };
    let isForecast = false;
    /** Says, once the total is known, when the budget lets the run end. Returns whether it is known. */
    const forecast = ({ rows, pages, resumedRows, total }: ExportProgress): boolean => {
      const { budget } = limiterOf(client, source.info.name);
      const all = boundTotal(total, maxRows);
      const ownPages = pages - (resuming?.committed.found?.pages ?? 0);
      if (!budget || all === undefined || rows <= resumedRows || ownPages <= 0) return false;
      const requests = Math.ceil(((all - rows) / (rows - resumedRows)) * ownPages);
      const sentence = budgetForecast(requests, budget, systemClock.now());
      if (sentence !== undefined) reporter.info(sentence);
      return true;
    };
    const stopNotice = explainStop(signal, reporter.info);
    const report = await flow
      .run({
        signal,
        onProgress: (progress) => {
          const isFirst = latest === undefined;
          latest = progress;
          if (isFirst) onBegin();
          isForecast ||= forecast(progress);
        },
      })
      .catch((error: unknown) => {
        const { accepted, deadLetters } = frame.look();
        throw judgeTimeUp(error, resuming?.committed, accepted + deadLetters);
      })
      .finally(() => {
        stopNotice.unsubscribe();
      });
    const {
      bytes,
      finishedAt,
      isIncomplete,
      shortOfTotal,
      overTotal,
      repeatedRows,
      rowsNotRemoved = 0,
      changes,
      addedColumns,
      oldRows,
    } = report;
    // The export was already finished, so there was no progress event.
    if (finishedAt !== undefined) latest = { ...report, isDone: false };
    const { elapsed, retries, sent } = read();
    const incremental = exportOptions?.incremental;
    const { full, from, until } = typeof incremental === 'object' ? incremental : {};
    const summary = summaryLine({
      ...report,
      target: name,
      elapsed,
      retries,
      redeliveries: sent?.redeliveries,
      again: sayAgain(kind, sink.identity),
      repeats: exportOptions?.repeats,
      isIncrement: incremental !== undefined && !full && (from === undefined || until === undefined),
    });
    if (isLast) page?.end({ outcome: 'finished', message: redact(summary, secrets) });
    const shownName = visibleText(name);
    // It may also be that of its parents, which the report does not have.
    const isTotalInTheWay = rowsNotRemoved > 0 && !isIncomplete && maxRows === undefined && !oldRows?.removesNone;
    if (isTotalInTheWay) reporter.warn(notRemovedText(shownName, rowsNotRemoved, true));
    const results = {
      target: name,
      bytes,
      deadLetters: forwarding && report.deadLetters && { ...report.deadLetters, path: forwarding.deadLetters },
      finishedAt,
      isIncomplete,
      rowsNotRemoved: rowsNotRemoved || undefined,
      shortOfTotal,
      overTotal,
      repeatedRows,
      changes,
      addedColumns,
      oldRows,
    };
    const advice = limit && rateAdvice(read(), limit.rate, limiterOf(client, source.info.name).rate);
    if (advice !== undefined) reporter.info(advice);
    reporter.done(isSummedUp ? results : { target: name }, isSummedUp ? summary : undefined);
    // Even with --quiet: nothing else says so then.
    const news = [...newsOf({ ...report, repeats: exportOptions?.repeats }, shownName, isTotalInTheWay)];
    if (finishedAt !== undefined) news.push(summary);
    if (mode === 'silent') for (const sentence of news) stderr.print(`sluice: ${redact(sentence, secrets)}\n`);
    printDeadLetters(report.deadLetters?.count ?? 0, frame, mode);
    return { report, retries, waited: frame.look().waited };
  });
}

function limiterOf({ limiters, limiter }: Client, source: string): LimiterState {
  return limiters.get(source.split('.')[0] ?? '') ?? limiter;
}

/** What exports once more what is complete. */
function sayAgain(kind: TargetKind, identity: Json): string {
  if (kind === 'file') return '--if-exists overwrite to export it again';
  // A table that is appended to keeps the rows that it has.
  const isAppended = readField(identity, 'mode') === 'append';
  return `--restart to export it again${isAppended ? ': its rows are there twice then' : ''}`;
}

/** @example nounFor(8, { one: 'wallet', count: 40 }) // ['group of wallets', 'groups of wallets'] */
function nounFor(partitions: number, parts: RowExport<never>['parts']): readonly [one: string, many: string] {
  if (!parts) return ['partition', 'partitions'];
  const { one, count } = parts;
  return count === partitions ? [one, `${one}s`] : [`group of ${one}s`, `groups of ${one}s`];
}

/** A stop that takes longer than this is explained, in ms. */
const quickStop = 500;

/** Explains a stop that takes a while. */
function explainStop(signal: AbortSignal, show: (message: string) => void): Subscription {
  const isSlow = fromEvent(signal, 'abort').pipe(delay(quickStop));
  return isSlow.subscribe(() => {
    show('Stopping: the rows that are fetched are committed first. A second signal (Ctrl+C) ends it at once.');
  });
}

function modeFor(
  { progress, quiet }: GroupOptions<'progress'>,
  target: TargetKind,
  { stdout, stderr }: Environment,
): ProgressMode {
  if (quiet) return 'silent';
  if (progress !== undefined) return progress;
  // The rows appear on the terminal, where a bar would overwrite them.
  if (target === 'stdout' && stdout.isTerminal) return 'none';
  return stderr.isTerminal ? 'bar' : 'plain';
}

function boundTotal(total: number | undefined, maxRows = Infinity): number | undefined {
  const min = Math.min(total ?? Infinity, maxRows);
  return min === Infinity ? undefined : min;
}
