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
import { endEarly } from '../export/exportRows.js';
import type { GroupOptions } from '../options/commandOptions.js';
import { afterWarning, type Notice } from '../progress/notices.js';
import { openClient, withClient } from '../source/openClient.js';
import { deadLetterSummary, type Forwarding, warnOfLetters } from '../target/deliveries.js';
import type { StatePlace } from '../target/statePlace.js';
import type { Target } from '../target/target.js';
import { visibleText } from '../terminal/text.js';
import { changeTargetOf } from './changeSink.js';
import { watchInterruption, type WatchEnd } from './interruptedWatch.js';
import type { RowView } from './rowView.js';
import { openWatchReporter, type WatchCounts } from './watchReporter.js';
import { watchStateOf } from './watchState.js';

/** Options of every command that watches. */
type WatchCommandOptions = GroupOptions<
  'polls' | 'changeTarget' | 'forwardChanges' | 'watchState' | 'anyApi' | 'watchProgress'
>;

/** What a watch of the library is told by the command line. */
type Watching = Pick<
  WatchOptions<object>,
  'every' | 'jitter' | 'polls' | 'acceptRemovals' | 'sameProject' | 'maxFailures' | 'retry' | 'state' | 'onHealth'
>;

/** What is watched, and where its changes go. */
interface ChangeWatch<T> {
  readonly client: Client;
  /** What the client has to say. */
  readonly notices: Observable<Notice>;
  /** Called once the client is watched, so that its warnings are seen. */
  readonly source: (watching: Watching) => PageSource<Change<T>>;
  readonly view: RowView<T>;
  readonly target: Target<Change<T>>;
  readonly state: StatePlace | undefined;
}

const defaultEvery = 30_000;
/** Warnings that are kept back until the watch has begun. */
const maxKeptBack = 100;

/**
 * Watches until the polls are through, or the environment's signal aborts. stdout gets each change at least once; a file, with its state,
 * each one once; a webhook, with its state, each one at least once.
 *
 * @returns the exit code.
 * @throws what the watch raises, what the last poll of a bounded run failed with, or the Interruption if a signal stopped it; as an
 * UnfinishedExport where something is to be said of what is known; ReportedError, if it was told as an event.
 */
async function watchChanges<T extends object>(
  { client, notices, source: watch, view, target, state }: ChangeWatch<T>,
  options: WatchCommandOptions,
  environment: Environment,
): Promise<number> {
  const { stderr, signal, secrets, command } = environment;
  const { forwarding } = target;
  const { every = defaultEvery, maxFailures, polls: lastOf } = options;
  const stateWarnings = new ReplaySubject<string>(maxKeptBack);
  const sink = await target.open(client);
  const store = await state?.open(client, (message) => {
    stateWarnings.next(visibleText(message));
  });
  let last: PageHealth | undefined;
  let polls = 0;
  let hasEnded = false;
  let latest: ExportProgress | ExportReport | undefined;
  const source = watch(
    watchingOf({ ...options, every }, store, (health) => {
      // A poll under way may still come to its end after the watch was stopped.
      if (hasEnded) return;
      // Not before: what they say of the state means nothing for a watch that is refused.
      if (!last) stateWarnings.subscribe(reporter.warn);
      last = health;
      if (health.outcome !== 'replayed') polls += 1;
      reporter.health(health);
    }),
  );
  const flow = exportTo(source, sink, {
    restart: options.restart ?? false,
    sameProject: options.sameProject ?? false,
    // What goes to stdout can't be taken back, so there is no place in it to remember.
    ...(target.state !== undefined && store && { state: store }),
  });
  const read = (): WatchCounts => ({
    ...{ changes: (latest?.rows ?? 0) - (latest?.resumedRows ?? 0), polls },
    ...(forwarding && countsOf(forwarding)),
  });
  const reporter = openWatchReporter(options.quiet ? 'silent' : (options.progress ?? 'plain'), {
    ...{ output: stderr, clock: systemClock, secrets, read },
    watched: { noun: view.noun, every, ...(lastOf !== undefined && { polls: lastOf }) },
    header: {
      ...{ source: source.info.name, target: target.name, format: target.format },
      ...(forwarding && { state: forwarding.state, deadLetterFile: forwarding.deadLetters }),
      ...(target.kind === 'sink' && state && { state: state.name }),
    },
  });
  notices.subscribe(({ level, message }) => {
    if (level === 'info') reporter.info(message);
    else reporter.warn(message);
  });
  if (forwarding) warnOfLetters(forwarding, reporter.warn, secrets);
  const end = (fault: unknown, how: Pick<WatchEnd, 'failures' | 'lastOf'>): never => {
    hasEnded = true;
    const interruptionReport = watchInterruption({
      ...{ fault, ...how, maxFailures, state: state?.name },
      isKnown: (last?.generation ?? 0) > 0,
      isRestart: options.restart ?? false,
      ...{ forwarding, kind: target.kind },
    });
    return endEarly({ fault, interruptionReport }, reporter, environment);
  };
  try {
    latest = await flow.run({
      signal,
      onProgress: (progress) => {
        latest = progress;
      },
    });
  } catch (fault) {
    return end(fault, { failures: last?.failures ?? 0 });
  }
  // Whoever asks once in a while has to learn that this time there was no answer.
  if (last?.outcome === 'failed' && lastOf !== undefined)
    return end(last.error, { failures: (last.failures ?? 1) - 1, lastOf });
  reporter.done(read());
  const deadLetters = forwarding?.tally.deadLetters ?? 0;
  if (!forwarding || deadLetters === 0) return exitCodes.done;
  // Also where only faults are wanted: these changes did not arrive.
  if (options.progress !== 'json' || options.quiet)
    stderr.tell(`sluice: ${deadLetterSummary(deadLetters, forwarding.deadLetters, command)}\n`);
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
    ...{ every, onHealth },
    ...(jitter !== undefined && { jitter }),
    ...(polls !== undefined && { polls }),
    ...(acceptRemovals !== undefined && { acceptRemovals }),
    ...(sameProject !== undefined && { sameProject }),
    ...(maxFailures !== undefined && { maxFailures }),
    ...(retryFor !== undefined && { retry: { for: retryFor } }),
    ...(state && { state }),
  };
}

/** What is watched. */
export interface WatchedRows<Added, T> {
  /** Adds to a client what the rows come from. */
  readonly add: (client: Client) => Client & Added;
  readonly source: (client: Client & Added, watching: Watching) => PageSource<Change<T>>;
  readonly view: RowView<T>;
  /** What people are told before anything is asked for. */
  readonly hint?: string | undefined;
}

/**
 * Watches, tells the changes to where the command line says, and answers the exit code.
 *
 * @throws UsageError if an option makes no sense; what the watch raises.
 */
export async function runWatch<Added, T extends object>(
  { add, source, view, hint }: WatchedRows<Added, T>,
  options: WatchCommandOptions,
  environment: Environment,
  { config }: Invocation,
): Promise<number> {
  const target = await changeTargetOf(options, view, environment, config);
  const state = watchStateOf(options, target, config, environment);
  return withClient(openClient(options, environment, config, add), environment, (client, notices) =>
    watchChanges(
      {
        ...{ client, view, target, state },
        notices: afterWarning(notices, { hint, warning: target.warning, isQuiet: options.quiet }, environment),
        source: (watching) => source(client, watching),
      },
      options,
      environment,
    ),
  );
}
