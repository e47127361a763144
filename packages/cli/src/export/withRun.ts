import { type Client, systemClock } from '@sluice/core';
import { healthLevel, type RunCounts, type RunHealth, RunJudge, type RunLevel } from '@sluice/core/health';
import type { About, Dashboard } from '@sluice/dashboard';
import { type Observable, ReplaySubject } from 'rxjs';
import type { Environment } from '../environment/environment.js';
import { EarlyEnd, type InterruptionReport, Interruption } from '../errors/errors.js';
import { chooseExitCode, isClosedOutput } from '../errors/exitCode.js';
import { errorSentence } from '../options/formatError.js';
import { redact, redactorFor } from '../errors/redact.js';
import type { Progress, RunHeader } from '../progress/exportProgress.js';
import type { Notice } from '../progress/notices.js';
import { openReporter, type ProgressMode, type ReportedRun, type Reporter } from '../progress/reporter.js';
import { type Wait, waitOf } from '../progress/waits.js';
import { findPage } from '../source/dashboardPage.js';
import { deadLetterSummary } from '../target/deliveries.js';
import { type Target, targetWords } from '../target/target.js';
import { visibleText } from '../terminal/text.js';
import { openingLine } from './messages.js';

/** Warnings that are buffered until the run has begun. */
const maxBuffered = 100;

interface FrameParts {
  readonly client: Client;
  readonly notices: Observable<Notice>;
  readonly target: Pick<Target<never>, 'kind' | 'name' | 'format' | 'forwarding'>;
  /** How many requests may be in progress, if that is known. */
  readonly parallel?: number | undefined;
  /** What the target takes. */
  readonly rows: 'rows' | 'changes';
}

/** What exports and watches have in common, before they begin. */
export interface Frame extends FrameParts {
  readonly environment: Environment;
  /** Warnings of the state. They are shown when the run has begun: they would confuse if it were refused. */
  readonly warnings: Observable<string>;
  readonly onWarning: (message: string) => void;
  readonly look: () => RunState;
}

/** What a run has done since its frame was opened, and what it waits for now. */
interface RunState extends RunCounts, Pick<Progress, 'waited' | 'lastRetry'> {
  readonly wait: Wait | undefined;
  /** What holds it up, as the page shows it. */
  readonly health: RunHealth;
  readonly level: RunLevel;
}

export function openFrame(parts: FrameParts, environment: Environment): Frame {
  const { client, target } = parts;
  const warnings = new ReplaySubject<string>(maxBuffered);
  // The page of `--dashboard` has a judge of its own: it follows the same events, so both say the same.
  const judge = new RunJudge(parts);
  client.eventsOf(...judge.events).subscribe((event) => {
    judge.follow(event, systemClock.monotonic());
  });
  return {
    ...parts,
    environment,
    warnings,
    onWarning: (message) => {
      warnings.next(visibleText(message));
    },
    look: () => {
      const now = systemClock.monotonic();
      const health = judge.health(now);
      const wait = waitOf(health, targetWords[target.kind].noun, parts.rows);
      const { counts, lastRetry } = judge;
      return { ...counts, health, level: healthLevel(health), wait, waited: judge.limitedFor(now), lastRetry };
    },
  };
}

/** How a run is shown. */
interface ShownRun extends Omit<ReportedRun, 'header' | 'opening'> {
  readonly mode: ProgressMode;
  readonly header: Pick<RunHeader, 'source' | 'isMirror'>;
  /** The name of the state, if it is neither next to the target nor in it. */
  readonly state: string | undefined;
  readonly about: Partial<About>;
  /** What the early end means; `undefined` if there is nothing to add to the error. */
  readonly interruption: (error: unknown) => InterruptionReport | undefined | Promise<InterruptionReport | undefined>;
}

/** A run that has begun. */
export interface Run {
  readonly reporter: Reporter;
  readonly page: Dashboard | undefined;
  /** Shows the warnings of the state. */
  readonly showWarnings: () => void;
}

/** Does the work of an export or a watch, and shows on stderr and on the dashboard what happens meanwhile. */
export async function withRun<R>(frame: Frame, shown: ShownRun, work: (run: Run) => Promise<R>): Promise<R> {
  const { client, notices, target, environment } = frame;
  const { mode, state, about, interruption, ...run } = shown;
  const { stderr, secrets } = environment;
  const { name, format, forwarding } = target;
  const places = { state: forwarding?.state ?? state, deadLetterFile: forwarding?.deadLetters };
  const header: RunHeader = { ...run.header, target: name, format, ...places };
  const page = findPage(client);
  page?.show({
    title: header.source,
    target: redact(name, secrets),
    targetNoun: targetWords[target.kind].noun,
    ...about,
  });
  const reporter = openReporter(
    mode,
    { ...run, header, opening: openingLine(header) },
    { output: stderr, clock: systemClock },
  );
  notices.subscribe(({ level, message }) => {
    if (level === 'info') reporter.info(message);
    else reporter.warn(message);
  });
  reportRereads(reporter, mode, environment);
  forwarding?.warnings.subscribe((sentence) => {
    reporter.warn(visibleText(redact(sentence, secrets)));
  });
  const showWarnings = (): void => {
    frame.warnings.subscribe(reporter.warn);
  };
  try {
    return await work({ reporter, page, showWarnings });
  } catch (error) {
    return endEarly(error, await interruption(error), reporter, environment, page);
  }
}

/** Reports what comes of SIGHUP; with `--quiet` only what fails. */
export function reportRereads(
  { info, warn }: Pick<Reporter, 'info' | 'warn'>,
  mode: ProgressMode,
  { secretFiles, stderr, secrets }: Environment,
): void {
  secretFiles.onReread = (level, message) => {
    const text = visibleText(redact(message, secrets));
    if (level === 'info') info(text);
    else if (mode === 'silent') stderr.print(`sluice: ${text}\n`);
    else warn(text);
  };
}

/** Says, even with `--quiet`, how many records did not arrive, and what to do with them. */
export function printDeadLetters(count: number, { target, environment }: Frame, mode: ProgressMode): void {
  if (!target.forwarding || count === 0 || mode === 'json') return;
  const { stderr, command } = environment;
  stderr.print(`sluice: ${deadLetterSummary(count, target.forwarding.deadLetters, command)}\n`);
}

/**
 * Lets the reporter report an early end.
 *
 * @param consequences what the end means for the rows, if there is something to say.
 * @throws the error, as an EarlyEnd if it was reported or has consequences.
 */
export function endEarly(
  error: unknown,
  consequences: InterruptionReport | undefined,
  reporter: Pick<Reporter, 'ended'>,
  { secrets, hasFlag }: Environment,
  page?: Dashboard,
): never {
  const kind = error instanceof Interruption || isClosedOutput(error) ? 'stopped' : 'failed';
  const exitCode = chooseExitCode(error);
  const report = isClosedOutput(error) ? undefined : consequences;
  const { command, keptRows } = report ?? {};
  const sentence = errorSentence(new EarlyEnd(error, report), hasFlag) + (command === undefined ? '' : ` ${command}`);
  const message = redactorFor(error)(sentence, secrets);
  page?.end({ outcome: kind, message });
  const resume = command === undefined ? undefined : redact(command, secrets);
  const isReported = reporter.ended({ kind, message, exitCode, keptRows, resume });
  throw report || isReported ? new EarlyEnd(error, report, isReported) : error;
}
