import {
  type Change,
  type Client,
  type Clock,
  type Due,
  type ExportOptions,
  type ExportProgress,
  type ExportReport,
  exportTo,
  systemClock,
  type WatchOptions,
} from '@sluice/core';
import type { RunLevel } from '@sluice/core/health';
import type { PageHealth, PageSource } from '@sluice/core/kit';
import { machineBootClock } from '@sluice/core/node';
import { type Observable, Subject } from 'rxjs';
import type { Config, Invocation } from '../config/config.js';
import type { Environment } from '../environment/environment.js';
import { toFlag } from '../options/option.js';
import { endedByTerm, exitCodes, TimeUp, UsageError } from '../errors/errors.js';
import { redact } from '../errors/redact.js';
import { describeMaking, resumeCommand } from '../export/resume.js';
import type { ExportedRows } from '../export/runExport.js';
import { openFrame, printDeadLetters, withRun } from '../export/withRun.js';
import type { OptionsOf } from '../options/commands.js';
import type { GroupOptions } from '../options/options.js';
import type { Notice } from '../progress/notices.js';
import { every } from '../progress/reporter.js';
import { type Wait, waitEvent, waitText } from '../progress/waits.js';
import { findPage, withoutDashboard } from '../source/dashboardPage.js';
import { openClient, withClient } from '../source/openClient.js';
import { refusePlace, type StatePlace, statePlace } from '../target/statePlace.js';
import { type Target, targetWords } from '../target/target.js';
import { formatCount, formatDuration, formatTime } from '../terminal/format.js';
import { visibleText } from '../terminal/text.js';
import { resolveChangeTarget } from './changeTarget.js';
import { answerHealthChecks, judgeWatch } from './healthChecks.js';
import { DueLines } from './dueText.js';
import { errorText, healthLines, pendingLine } from './healthLines.js';
import { watchInterruption } from './interruptedWatch.js';
import { showPast } from './pastRows.js';
import { type NamedRules, parseRules } from './parseRule.js';
import type { RowView } from './rowView.js';
import { countInVain, judgeTimeUp } from './timeUp.js';

/** Options of every command that watches. */
type WatchCommandOptions = GroupOptions<
  'polls' | 'changeTarget' | 'forwardChanges' | 'watchState' | 'connection' | 'watchProgress' | 'dashboard'
> &
  OptionsOf<'pageSize'>;

/** Options of the library, whatever the rows. */
type Watching = Omit<WatchOptions<unknown>, 'key' | 'project' | 'equals'>;

/** What to watch. */
export interface WatchedRows extends Pick<ExportedRows, 'add' | 'wallets'> {
  /** @param rulesFor the rules of the command line, for rows with these columns */
  readonly source: (
    client: Client,
    watching: Watching,
    rulesFor: (columns: readonly string[]) => NamedRules,
  ) => PageSource<Change<Row> | Due<Row>>;
  readonly view: RowView<Row>;
}

type Row = Record<string, unknown>;

interface OpenWatch {
  readonly client: Client;
  readonly notices: Observable<Notice>;
  readonly target: Target<Change<Row> | Due<Row>>;
  readonly state: StatePlace | undefined;
  readonly madeWith: ExportOptions['madeWith'];
}

/** Watches, sends the changes to the target of the command line, and returns the exit code. */
export async function runWatch(
  rows: WatchedRows,
  options: WatchCommandOptions,
  given: Environment,
  { args, config }: Invocation,
): Promise<number> {
  const environment = options.polls === undefined ? { ...given, signal: endedByTerm(given.signal) } : given;
  const target = await resolveChangeTarget(options, rows.view, environment, config);
  const state = findWatchState(options, target, config, environment);
  return withClient(openClient(options, environment, config, rows.add), environment, async (client, notices) => {
    const { text } = resumeCommand(environment.command, withoutDashboard(args));
    const command = redact(text, environment.secrets);
    const page = findPage(client);
    page?.show({ command });
    if (page && options.mode === 'history' && options.to !== undefined)
      await showPast(page, options.to, systemClock.now(), environment);
    const open = { client, notices, target, state, madeWith: describeMaking(command, options, rows.wallets) };
    return watchChanges(rows, open, options, environment);
  });
}

const defaultEvery = 30_000;

/**
 * Watches until the last poll, or until the environment's signal aborts. Delivers each change at least once to stdout
 * or a webhook, and exactly once to a file or a table, which mirrors the rows.
 *
 * @throws what the watch raises, and the error of the last poll if `polls` bounds them.
 */
async function watchChanges(
  { source: watch, view }: WatchedRows,
  { client, notices, target, state, madeWith }: OpenWatch,
  options: WatchCommandOptions,
  environment: Environment,
): Promise<number> {
  const { signal, secrets, hasFlag, stderr } = environment;
  const { forwarding, kind } = target;
  const {
    every: interval = defaultEvery,
    polls: maxPolls,
    maxFailures,
    restart = false,
    sameProject = false,
  } = options;
  const { jitter, ignore, acceptRemovals, retryFor } = options;
  const frame = openFrame({ client, notices, target, rows: 'changes' }, environment);
  const sink = await target.open(client);
  if (sink.state) refusePlace(options);
  const folder = await state?.open(client, frame.onWarning);
  const healths = new Subject<PageHealth>();
  // A table that mirrors the rows keeps the state of their watch.
  const store = sink.state ?? folder;
  let succeeded = 0;
  const isInVain = (): boolean | undefined => {
    const reason: unknown = signal.reason;
    if (succeeded > 0) return false;
    const hasMoved = counts().changes > 0 || frame.look().accepted > 0;
    return (reason instanceof TimeUp && !reason.isPaused && !hasMoved) || undefined;
  };
  const slices = store && countInVain(store, isInVain);
  const watching = {
    every: interval,
    jitter,
    polls: maxPolls,
    ignore,
    acceptRemovals,
    sameProject,
    maxFailures,
    retry: retryFor === undefined ? undefined : { for: retryFor },
    state: slices?.state ?? store,
    onHealth: (health: PageHealth) => healths.next(health),
    boot: machineBootClock(),
  };
  const source = watch(client, watching, (columns) => parseRules(options.rule ?? [], columns));
  const flow = exportTo(source, sink, {
    restart,
    sameProject,
    madeWith,
    onWarning: frame.onWarning,
    // stdout cannot be truncated, so it has no position to resume at.
    state: target.state === undefined || sink.state ? undefined : folder,
  });
  let last: PageHealth | undefined;
  let acceptedAt: number | undefined;
  let polls = 0;
  /** Rows of the first poll of all: each is written like a change. */
  let initial = 0;
  let latest: ExportProgress | ExportReport | undefined;
  /** The target has taken what the last poll has found. */
  let isTaken = true;
  /** A poll is under way. */
  let isPolling = false;
  /** Changes that a webhook has not accepted. */
  let waiting = 0;
  /** The last poll that `--polls` allows has failed. */
  let isLastFailed = false;
  const counts = () => {
    const { deliveries, redeliveries, deadLetters: count } = frame.look();
    return {
      changes: (latest?.rows ?? 0) - (latest?.resumedRows ?? 0),
      polls,
      ...(forwarding && {
        deliveries,
        redeliveries,
        deadLetters: count > 0 ? { count, path: forwarding.deadLetters } : undefined,
      }),
    };
  };
  const mode = options.quiet ? 'silent' : (options.progress ?? 'plain');
  const shown = {
    mode,
    header: { source: source.info.name, isMirror: kind === 'table' || undefined },
    state: kind === 'sink' && !sink.state ? state?.name : undefined,
    about: { kind: 'watch' },
    counts,
    interruption: (error: unknown) =>
      watchInterruption({
        error,
        failures: isLastFailed ? (last?.failures ?? 1) - 1 : (last?.failures ?? 0),
        maxFailures,
        lastOf: isLastFailed ? maxPolls : undefined,
        state: sink.state ? target.name : state?.name,
        isKnown: (last?.generation ?? 0) > 0 || (latest?.resumedRows ?? 0) > 0,
        isRestart: restart,
        forwarding,
        deadLetters: frame.look().deadLetters,
        kind,
      }),
  } as const;
  return withRun(frame, shown, async ({ reporter, page, showWarnings }) => {
    const timed = (line: string): string =>
      `${stderr.colors.dim(formatTime(new Date(systemClock.now())))}  ${visibleText(redact(line, secrets))}`;
    const judge = () =>
      judgeWatch({
        health: frame.look().health,
        target: targetWords[kind].noun,
        poll: last,
        acceptedFor: acceptedAt === undefined ? undefined : systemClock.monotonic() - acceptedAt,
        every: interval,
        isStopping: signal.aborted,
      });
    /** What the latest notice said of an outage, which needs no second line. */
    let noticed: Notice['outage'];
    const noticing = notices.subscribe(({ outage = noticed }) => (noticed = outage));
    const reporting = healths.subscribe((health) => {
      printDue(dueLines.rest());
      if (!last) showWarnings();
      // The poll says how it ended.
      if (noticed === 'begun') noticed = undefined;
      if (health.outcome !== 'replayed') polls += 1;
      if (health.isSynced) initial = health.rows;
      if (health.outcome === 'polled') {
        acceptedAt = systemClock.monotonic();
        succeeded += 1;
      }
      isPolling = false;
      isTaken = false;
      // If the last poll fails, its error ends the watch.
      const isReported = health.outcome === 'failed' && polls === maxPolls;
      const lines = isReported
        ? []
        : healthLines(health, last, { noun: view.noun, every: interval, isPolling: polls !== maxPolls }, hasFlag);
      const { error, ...fields } = health;
      const message = error === undefined ? undefined : redact(errorText(error, hasFlag), secrets);
      reporter.report('poll', { ...fields, message }, lines.map(timed));
      // Even with --quiet: nothing else says so then.
      const pending = mode === 'silent' ? pendingLine(health, last, interval) : undefined;
      if (pending !== undefined) stderr.print(`sluice: ${pending}\n`);
      last = health;
      // The end of the command tells of the last poll.
      if (health.outcome === 'polled' && polls !== maxPolls && judge().isWell) environment.pingWell?.();
    });
    // What is due must not be missed, wherever the changes go.
    const dueLines = new DueLines(stderr.colors, (text) => redact(text, secrets));
    const printDue = (line: string | undefined): void => {
      if (line === undefined) return;
      const time = stderr.colors.dim(formatTime(new Date(systemClock.now())));
      if (mode === 'silent') stderr.print(`sluice: ${line}\n`);
      else reporter.info(`${time}  ${line}`);
    };
    const warning = client.eventsOf('due').subscribe((event) => {
      if (kind === 'stdout' || event.kind === 'known') return;
      const { type, ...fields } = event;
      reporter.report(type, fields, []);
      printDue(dueLines.take(event));
    });
    const following = client.eventsOf('request', 'page', 'commit', 'delivery').subscribe((event) => {
      if (event.type === 'delivery') waiting = event.waiting;
      // Also while it is closing.
      else if (event.type === 'commit') isTaken = true;
      else isPolling = true;
    });
    const checks = options.health && (await answerHealthChecks(options.health, judge));
    if (checks) reporter.info(`Health checks are answered at ${checks.url}`);
    const endWaits = onLongWaits(frame.look, systemClock, (wait, lasted) => {
      const begun = wait.kind === 'pace' ? wait.sentence : `The watch waits: ${waitText(wait)}.`;
      const sentence = lasted === undefined ? begun : `The watch goes on, after ${formatDuration(lasted)}.`;
      const lines = noticed === (lasted === undefined ? 'begun' : 'over') ? [] : [timed(sentence)];
      // Another cause is new.
      noticed = undefined;
      if (lasted === undefined) reporter.report('waiting', waitEvent(wait), lines);
      else reporter.report('waited', { ...waitEvent(wait), leftMs: undefined, sinceMs: Math.round(lasted) }, lines);
    });
    try {
      latest = await flow.run({
        signal,
        onProgress: (progress) => {
          latest = progress;
          isTaken = true;
        },
      });
    } catch (error) {
      if (!(error instanceof TimeUp)) throw error;
      const lastError = redact(errorText(last?.error, hasFlag), secrets);
      const inVain = slices?.inVain();
      const owed = judgeTimeUp(error, { succeeded, last, lastError, isPolling, isTaken, waiting, inVain });
      if (owed !== undefined) throw owed;
    } finally {
      following.unsubscribe();
      warning.unsubscribe();
      checks?.close();
      endWaits();
      // A running poll may finish after the watch was stopped.
      reporting.unsubscribe();
      noticing.unsubscribe();
    }
    // A run with a fixed number of polls, e.g. from cron, must fail if its last poll failed.
    isLastFailed = last?.outcome === 'failed' && maxPolls !== undefined;
    if (isLastFailed) throw last?.error;
    const { changes, deadLetters } = counts();
    const start = initial > 0 ? `${formatCount(initial, 'row')} at the start, ` : '';
    const summary = `${start}${formatCount(Math.max(0, changes - initial), 'change')} in ${formatCount(polls, 'poll')}`;
    page?.end({ outcome: 'finished', message: `${summary}.` });
    const addedColumns = latest?.isDone ? latest.addedColumns : undefined;
    reporter.done({ target: target.name, addedColumns }, `${summary} -> ${target.name}`);
    printDeadLetters(deadLetters?.count ?? 0, frame, mode);
    return deadLetters ? exitCodes.deadLetters : exitCodes.done;
  });
}

/** Shorter waits of a poll are not reported unless they are an outage, in ms. */
const longWait = 10_000;
const lookEvery = 1_000;

/**
 * Reports each outage and long wait once, again for another cause, and when it is over, with the ms that it lasted, from
 * now on. Returns a function that ends this.
 */
export function onLongWaits(
  judge: () => { readonly wait: Wait | undefined; readonly level: RunLevel },
  clock: Clock,
  report: (wait: Wait, lasted?: number) => void,
): () => void {
  let reported: { readonly name: string; readonly wait: Wait; readonly from: number } | undefined;
  return every(clock, lookEvery, () => {
    const { wait, level } = judge();
    const now = clock.monotonic();
    if (!wait) {
      if (reported) report(reported.wait, now - reported.from);
      reported = undefined;
      return;
    }
    const name = `${wait.kind} ${('cause' in wait && wait.cause) || ''}`;
    const since = 'since' in wait ? wait.since : 0;
    const queued = 'backlog' in wait ? wait.backlog.waiting * wait.backlog.each : 0;
    const known = Math.max(('left' in wait && wait.left) || 0, since, queued);
    if (wait.kind === 'stopping' || reported?.name === name || (level !== 'failing' && known < longWait)) return;
    reported = { name, wait, from: Math.min(now - since, reported?.from ?? Infinity) };
    report(wait);
  });
}

/** The state of a watch; `undefined` if none is stored. @throws UsageError if an option requires one. */
function findWatchState(
  options: GroupOptions<'watchState'>,
  target: Pick<Target<never>, 'kind' | 'state'>,
  config: Config,
  environment: Environment,
): StatePlace | undefined {
  if (target.kind === 'table') {
    refusePlace(options);
    return undefined;
  }
  const folder = options.state ?? target.state;
  if (folder === undefined) {
    const option = (['restart', 'breakLock', 'trustFilesystem'] as const).find((name) => options[name]);
    if (option !== undefined)
      throw new UsageError(`${toFlag(option)} needs --state DIR: without it no state is stored.`);
    return undefined;
  }
  return statePlace(folder, options, config, environment);
}
