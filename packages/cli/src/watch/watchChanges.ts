import {
  type Change,
  type Client,
  type ExportProgress,
  type ExportReport,
  exportTo,
  type PageHealth,
  type PageSource,
  type StateStore,
  systemClock,
  type WatchOptions,
} from '@sluice/core';
import { type Observable, ReplaySubject } from 'rxjs';
import type { Invocation } from '../config/config.js';
import type { Environment } from '../environment/environment.js';
import { exitCodes } from '../errors/errors.js';
import { redact } from '../errors/redact.js';
import { endEarly } from '../export/exportRows.js';
import { resumeCommand } from '../export/resume.js';
import type { GroupOptions } from '../options/options.js';
import { afterHint, type Notice } from '../progress/notices.js';
import { timedSink } from '../progress/timedSink.js';
import { RequestWaits, TargetWait } from '../progress/waits.js';
import { pageOf, withoutDashboard } from '../source/dashboardPage.js';
import { openClient, withClient } from '../source/openClient.js';
import { deadLetterSummary, type Forwarding, warnOfLetters } from '../target/deliveries.js';
import { refusePlace, type StatePlace } from '../target/statePlace.js';
import { type Target, targetNouns } from '../target/target.js';
import { formatCount } from '../terminal/format.js';
import { visibleText } from '../terminal/text.js';
import { changeTargetOf } from './changeSink.js';
import { watchInterruption, type WatchEnd } from './interruptedWatch.js';
import type { RowView } from './rowView.js';
import { onLongWaits } from './longWaits.js';
import { openWatchReporter, type WatchCounts } from './watchReporter.js';
import { watchStateOf } from './watchState.js';

/** Options of every command that watches. */
type WatchCommandOptions = GroupOptions<
  'polls' | 'changeTarget' | 'forwardChanges' | 'watchState' | 'anyApi' | 'watchProgress' | 'dashboard'
>;

/** The options of the library that the command line sets. */
type Watching = Pick<
  WatchOptions<object>,
  'every' | 'jitter' | 'polls' | 'acceptRemovals' | 'sameProject' | 'maxFailures' | 'retry' | 'state' | 'onHealth'
>;

interface ChangeWatch<T> {
  readonly client: Client;
  readonly notices: Observable<Notice>;
  readonly source: (watching: Watching) => PageSource<Change<T>>;
  readonly view: RowView<T>;
  readonly target: Target<Change<T>>;
  readonly state: StatePlace | undefined;
}

const defaultEvery = 30_000;
/** Warnings that are buffered until the first poll. */
const maxBuffered = 100;

/**
 * Watches until the last poll, or until the environment's signal aborts. Delivers each change at least once to stdout
 * or a webhook, and exactly once to a file or a table, which mirrors the rows.
 *
 * @returns the exit code.
 * @throws what the watch raises, the error of the last poll if `polls` bounds them, or the Interruption after a signal.
 * Each is wrapped in an UnfinishedExport if there is more to say. ReportedError if the reporter has already reported
 * it.
 */
async function watchChanges<T extends object>(
  { client, notices, source: watch, view, target, state }: ChangeWatch<T>,
  options: WatchCommandOptions,
  environment: Environment,
): Promise<number> {
  const { stderr, signal, secrets, hasFlag, command } = environment;
  const { forwarding } = target;
  const { every = defaultEvery, maxFailures, polls: lastOf } = options;
  const stateWarnings = new ReplaySubject<string>(maxBuffered);
  const sink = await target.open(client);
  if (sink.state) refusePlace(options);
  const folder = await state?.open(client, (message) => {
    stateWarnings.next(visibleText(message));
  });
  // A table that mirrors the rows keeps the state of their watch.
  const store = sink.state ?? folder;
  let last: PageHealth | undefined;
  let polls = 0;
  let hasEnded = false;
  let latest: ExportProgress | ExportReport | undefined;
  const source = watch(
    watchingOf({ ...options, every }, store, (health) => {
      // A running poll may finish after the watch was stopped.
      if (hasEnded) return;
      // Not earlier: these warnings would confuse if the watch were refused.
      if (!last) stateWarnings.subscribe(reporter.warn);
      last = health;
      if (health.outcome !== 'replayed') polls += 1;
      reporter.health(health);
    }),
  );
  const targetWait = new TargetWait(systemClock, targetNouns[target.kind], () => forwarding?.tally.repeatedAfter);
  const requestWaits = new RequestWaits(client, systemClock);
  const flow = exportTo(source, timedSink(sink, targetWait), {
    restart: options.restart ?? false,
    sameProject: options.sameProject ?? false,
    // stdout cannot be truncated, so it has no position to resume at.
    ...(target.state !== undefined && !sink.state && folder && { state: folder }),
  });
  const read = (): WatchCounts => ({
    changes: (latest?.rows ?? 0) - (latest?.resumedRows ?? 0),
    polls,
    ...(forwarding && countsOf(forwarding)),
  });
  const reporter = openWatchReporter(options.quiet ? 'silent' : (options.progress ?? 'plain'), {
    output: stderr,
    clock: systemClock,
    secrets,
    hasFlag,
    read,
    watched: { noun: view.noun, every, ...(lastOf !== undefined && { polls: lastOf }) },
    header: {
      source: source.info.name,
      target: target.name,
      format: target.format,
      ...(forwarding && { state: forwarding.state, deadLetterFile: forwarding.deadLetters }),
      ...(target.kind === 'sink' && state && !sink.state && { state: state.name }),
      ...(target.kind === 'table' && { isMirror: true as const }),
    },
  });
  const page = pageOf(client);
  page?.show({ kind: 'watch', title: source.info.name, target: redact(target.name, secrets) });
  notices.subscribe(({ level, message }) => {
    if (level === 'info') reporter.info(message);
    else reporter.warn(message);
  });
  if (forwarding) warnOfLetters(forwarding, reporter.warn, secrets);
  const endWaits = onLongWaits(() => targetWait.current() ?? requestWaits.current(), systemClock, reporter.waiting);
  const end = (error: unknown, how: Pick<WatchEnd, 'failures' | 'lastOf'>): never => {
    hasEnded = true;
    const interruptionReport = watchInterruption({
      error,
      ...how,
      maxFailures,
      state: sink.state ? target.name : state?.name,
      isKnown: (last?.generation ?? 0) > 0,
      isRestart: options.restart ?? false,
      forwarding,
      kind: target.kind,
    });
    return endEarly({ error, interruptionReport }, reporter, environment, page);
  };
  try {
    latest = await flow.run({
      signal,
      onProgress: (progress) => {
        latest = progress;
      },
    });
  } catch (error) {
    return end(error, { failures: last?.failures ?? 0 });
  } finally {
    endWaits();
  }
  // A run with a fixed number of polls, e.g. from cron, must fail if its last poll failed.
  if (last?.outcome === 'failed' && lastOf !== undefined)
    return end(last.error, { failures: (last.failures ?? 1) - 1, lastOf });
  const { changes, polls: made } = read();
  page?.end({ outcome: 'finished', message: `${formatCount(changes, 'change')} in ${formatCount(made, 'poll')}.` });
  reporter.done(read());
  const deadLetters = forwarding?.tally.deadLetters ?? 0;
  if (!forwarding || deadLetters === 0) return exitCodes.done;
  // Even with --quiet: these changes did not arrive.
  if (options.progress !== 'json' || options.quiet)
    stderr.print(`sluice: ${deadLetterSummary(deadLetters, forwarding.deadLetters, command)}\n`);
  return exitCodes.deadLetters;
}

function countsOf({
  tally: { deliveries, redeliveries, deadLetters: count },
  deadLetters: path,
}: Forwarding): Omit<WatchCounts, 'changes' | 'polls'> {
  return { deliveries, redeliveries, ...(count > 0 && { deadLetters: { count, path } }) };
}

function watchingOf(
  {
    every,
    jitter,
    polls,
    acceptRemovals,
    sameProject,
    maxFailures,
    retryFor,
  }: WatchCommandOptions & { readonly every: number },
  state: StateStore | undefined,
  onHealth: (health: PageHealth) => void,
): Watching {
  return {
    every,
    onHealth,
    ...(jitter !== undefined && { jitter }),
    ...(polls !== undefined && { polls }),
    ...(acceptRemovals !== undefined && { acceptRemovals }),
    ...(sameProject !== undefined && { sameProject }),
    ...(maxFailures !== undefined && { maxFailures }),
    ...(retryFor !== undefined && { retry: { for: retryFor } }),
    ...(state && { state }),
  };
}

/** What to watch. */
export interface WatchedRows<Added, T> {
  /** Adds the API of the rows to a client. */
  readonly add: (client: Client) => Client & Added;
  readonly source: (client: Client & Added, watching: Watching) => PageSource<Change<T>>;
  readonly view: RowView<T>;
  /** Shown at the start. */
  readonly hint?: string | undefined;
}

/**
 * Watches, sends the changes to the target of the command line, and returns the exit code.
 *
 * @throws UsageError if an option can't be used; what the watch raises.
 */
export async function runWatch<Added, T extends object>(
  { add, source, view, hint }: WatchedRows<Added, T>,
  options: WatchCommandOptions,
  environment: Environment,
  { args, config }: Invocation,
): Promise<number> {
  const target = await changeTargetOf(options, view, environment, config);
  const state = watchStateOf(options, target, config, environment);
  return withClient(openClient(options, environment, config, add), environment, (client, notices) => {
    const { text } = resumeCommand(environment.command, withoutDashboard(args));
    pageOf(client)?.show({ command: redact(text, environment.secrets) });
    return watchChanges(
      {
        client,
        view,
        target,
        state,
        notices: afterHint(notices, hint),
        source: (watching) => source(client, watching),
      },
      options,
      environment,
    );
  });
}
