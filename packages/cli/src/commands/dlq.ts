import { resolve } from 'node:path';
import { SluiceError, type StateStore, systemClock } from '@sluice/core';
import { type ListedLetter, readDeadLetters, replay, type ReplayCounts } from '@sluice/exporters/webhook';
import type { Run } from '../config/config.js';
import type { Environment } from '../environment/environment.js';
import { explainInFlags } from '../options/cliTerms.js';
import { refuseClosed } from '../environment/output.js';
import { withinTime } from '../environment/withinTime.js';
import { exitCodes, Failure, Interruption, type InterruptionReport, TimeUp, UsageError } from '../errors/errors.js';
import { redact } from '../errors/redact.js';
import { neededAgain, resumeCommand, type ResumeCommands } from '../export/resume.js';
import { endEarly } from '../export/withRun.js';
import { standardInput } from '../input/readInput.js';
import { openReporter } from '../progress/reporter.js';
import { webhookOptions } from '../target/forwardTarget.js';
import { databaseStore } from '../target/stateStore.js';
import { formatCount, formatDuration, formatNumber, formatTime } from '../terminal/format.js';
import { type Column, table } from '../terminal/textTable.js';
import { visibleText } from '../terminal/text.js';

/** Refusals that are reported one by one; further ones are only counted. */
const maxReported = 5;

/** `sluice dlq replay`: sends dead letters again. Returns 3 if some are left. */
export const dlqReplay: Run<'dlq replay'> = (options, given, invocation) =>
  withinTime(options.maxTime, given, (environment) => replayLetters(options, environment, invocation));

const replayLetters: Run<'dlq replay'> = async (options, environment, { args }) => {
  const { file, to, deliveries, breakLock, trustFilesystem: trustFileSystem, progress = 'plain', quiet } = options;
  const { signal, stderr, secrets, command, hasFlag } = environment;
  if (to === undefined) throw new UsageError('Where to? Give --to URL, the address of the service.');
  const endpoint = await webhookOptions(to, options, environment);
  const target = URL.canParse(to) ? new URL(to).origin : '';
  let latest: ReplayCounts | undefined;
  let refused = 0;
  const clock = systemClock;
  const began = clock.monotonic();
  const counts = () => ({ ...latest, elapsedMs: Math.round(clock.monotonic() - began) });
  const run = {
    header: { file, target },
    counts,
    progress: { fields: () => latest && counts(), line: () => latest && replayProgress(latest) },
  };
  const reporter = openReporter(quiet ? 'silent' : progress, run, { output: stderr, clock });
  const warn = (message: string): void => {
    reporter.warn(visibleText(redact(message, secrets)));
  };
  for (const warning of environment.warnings) warn(warning);
  try {
    latest = await replay(await openLetters(file, environment), {
      ...endpoint,
      signal,
      onWarning: warn,
      onProgress: (now) => {
        latest = now;
      },
      onRefused: ({ id }, error) => {
        refused += 1;
        if (refused <= maxReported) warn(`Record ${id} was refused again. ${explainInFlags(error, hasFlag)}`);
      },
      deliveries,
      breakLock,
      trustFileSystem,
    });
    const { replayed, left } = latest;
    const took = formatDuration(clock.monotonic() - began);
    reporter.done({}, `${formatCount(replayed, 'dead letter')} replayed -> ${target} (${took}), ${replayRest(latest)}`);
    // Nothing else says so then.
    if (quiet && left > 0) stderr.print(`sluice: ${file}: ${replayRest(latest)}.\n`);
    return left === 0 ? exitCodes.done : exitCodes.deadLetters;
  } catch (error) {
    const { text, isAddressCut } = resumeCommand(command, args, '--to');
    const isFromStdin = options.secretFile === standardInput;
    const commands = { resume: text, isAddressCut, fromStdin: isFromStdin ? ('secret' as const) : undefined };
    // The next replay sends again what was refused, so it would get no further.
    const isInVain = error instanceof TimeUp && !latest?.replayed;
    const ended = isInVain ? new Failure('No dead letter was accepted within --max-time. Give it more time.') : error;
    return endEarly(ended, replayInterruption(ended, latest, commands), reporter, environment);
  }
};

/** The path of a file, or the state of a database. */
async function openLetters(file: string, environment: Environment): Promise<string | StateStore> {
  return (await databaseStore(file, environment)?.open()) ?? resolve(environment.folder, file);
}

/** The progress of a replay. @example '1,200 of 3,000 dead letters replayed, 3 refused again' */
function replayProgress({ replayed, stillDead, left }: ReplayCounts): string {
  const again = stillDead === 0 ? '' : `, ${formatNumber(stillDead)} refused again`;
  return `${formatNumber(replayed)} of ${formatCount(replayed + left, 'dead letter')} replayed${again}`;
}

/** How many letters are left, and why. @example '3 left (1 refused again, 2 behind one with their key)' */
function replayRest({ stillDead, left }: ReplayCounts): string {
  if (left === 0) return 'none left';
  if (stillDead === 0) return `${formatNumber(left)} left`;
  const pending = left - stillDead;
  const behind = pending > 0 ? `, ${formatNumber(pending)} behind one with ${pending === 1 ? 'its' : 'their'} key` : '';
  return `${formatNumber(left)} left (${formatNumber(stillDead)} refused again${behind})`;
}

/** `sluice dlq show`: lists dead letters with the responses to them. May run during an export or a replay. */
export const dlqShow: Run<'dlq show'> = async ({ file, format = 'text' }, environment) => {
  const { stdout } = environment;
  refuseClosed(stdout);
  const place = await openLetters(file, environment);
  let torn: number | undefined;
  const onTorn = (line: number): void => {
    torn = line;
  };
  const ended = (): number => {
    if (torn === undefined) return exitCodes.done;
    throw new Failure(
      `Line ${torn} of ${file} is cut off, so it is not shown. An export that writes to it, or was interrupted, writes the record again. Otherwise repair or remove the line.`,
    );
  };
  if (format === 'json') {
    for await (const text of letterJson(place, onTorn)) await stdout.write(text);
    return ended();
  }
  const letters: LetterRow[] = [];
  for await (const { letter, isReplayed } of readDeadLetters(place, { onTorn })) {
    const { id, key, attempts, status, answer, at } = letter;
    letters.push({ id, key, attempts, status, answer, at, isReplayed });
  }
  if (letters.length > 0) await stdout.write(table(columns, letters, stdout).text);
  const replayed = letters.filter(({ isReplayed }) => isReplayed).length;
  const of =
    replayed === 0 ? '' : `: ${formatNumber(replayed)} replayed, ${formatNumber(letters.length - replayed)} left`;
  await stdout.write(`${formatCount(letters.length, 'dead letter')} in ${visibleText(file)}${of}.\n`);
  return ended();
};

/** One JSON object with a letter per line, streamed, since the file may be large. */
async function* letterJson(
  place: string | StateStore,
  onTorn: (line: number) => void,
): AsyncGenerator<string, void, undefined> {
  let total = 0;
  let replayed = 0;
  for await (const { letter, line, isReplayed } of readDeadLetters(place, { onTorn })) {
    yield `${total === 0 ? '{"letters":[' : ','}\n${JSON.stringify({ line, isReplayed, ...letter })}`;
    total += 1;
    if (isReplayed) replayed += 1;
  }
  const totals = JSON.stringify({ total, replayed, left: total - replayed });
  yield `${total === 0 ? '{"letters":[' : '\n'}],${totals.slice(1)}\n`;
}

/** A dead letter without its record, which may be large. */
type LetterRow = Omit<ListedLetter['letter'], 'record'> & Pick<ListedLetter, 'isReplayed'>;

const columns: readonly Column<LetterRow>[] = [
  { title: 'status', cell: describeStatus },
  { title: 'when', min: 19, cell: ({ at }) => showTime(at) },
  { title: 'attempts', align: 'right', cell: ({ attempts }) => String(attempts) },
  { title: 'id', cell: ({ id }) => id },
  { title: 'key', cell: ({ key }) => key ?? '' },
  { title: 'answer', cell: ({ answer }) => answer },
];

/** `parked`: never sent, since an earlier record with its key was refused. */
function describeStatus({ status, isReplayed }: LetterRow): string {
  return `${status === null ? 'parked' : String(status)}${isReplayed ? ', replayed' : ''}`;
}

/** Shows an invalid time, e.g. after a manual edit, as it is. */
function showTime(at: string): string {
  const moment = new Date(at);
  return Number.isNaN(moment.getTime()) ? at : formatTime(moment);
}

/** What an early end means for a replay; `undefined` if there is nothing to add to the error. */
function replayInterruption(
  error: unknown,
  counts: ReplayCounts | undefined,
  commands: Omit<ResumeCommands, 'isRestart'>,
): InterruptionReport | undefined {
  const { replayed = 0 } = counts ?? {};
  const kept =
    replayed === 0
      ? 'No dead letter is lost'
      : `${formatCount(replayed, 'dead letter is', 'dead letters are')} replayed, and none is lost`;
  if (error instanceof Interruption)
    return { consequence: `${kept}. ${neededAgain(commands)}Resume with:`, command: commands.resume };
  if (SluiceError.is(error) && ['config', 'checkpoint', 'lock', 'sink'].includes(error.code)) return undefined;
  return { consequence: `${kept}; run the same command to resume.` };
}
