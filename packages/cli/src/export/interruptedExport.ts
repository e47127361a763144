import { type ExportProgress, SluiceError, type SluiceErrorCode } from '@sluice/core';
import { type InterruptionReport, Interruption } from '../errors/errors.js';
import { type Forwarding, setAside } from '../target/deliveries.js';
import { ownStateHint } from '../target/statePlace.js';
import type { TargetKind } from '../target/target.js';
import { formatCount } from '../terminal/format.js';
import { type CommittedState, neededAgain, type ResumeCommands, type Resuming } from './resume.js';
import { standardOutputName } from './rowSink.js';

/** The early end of an export that can be resumed. */
interface ResumableEnd {
  readonly error: unknown;
  /** The export passed its checks, so the error is not about the checkpoint itself. */
  readonly hasBegun: boolean;
  readonly committed: Pick<CommittedState, 'last' | 'isKnown'>;
  readonly commands: ResumeCommands;
  /** Default: those for a file. */
  readonly words?: TargetWords;
}

/** What an early end means for an export; `undefined` if there is nothing to add to the error. */
export function interruptionOf(end: ResumableEnd): InterruptionReport | undefined {
  const { error, hasBegun, committed, commands, words = fileWords } = end;
  if (error instanceof Interruption) return afterInterruption(committed, commands, words);
  if (!hasBegun || !committed.last || saysRestart(error)) return undefined;
  const { rows, isSealed = false } = committed.last;
  const outcome = isSealed ? words.all(rows) : words.committed(rows);
  if (!canResume(error, isSealed)) return isSealed ? undefined : { consequence: `${outcome}.`, keptRows: rows };
  const same = commands.isRestart ? 'the same command without --restart' : 'the same command';
  return { consequence: `${outcome}; run ${same} to resume.`, keptRows: rows };
}

function afterInterruption(
  { last, isKnown }: Pick<CommittedState, 'last' | 'isKnown'>,
  commands: ResumeCommands,
  words: TargetWords,
): InterruptionReport {
  const again = neededAgain(commands);
  const { resume: command } = commands;
  // Any earlier checkpoint is unchanged, so repeat the command as it was given, with --restart if it had that.
  if (!isKnown) return { consequence: `Nothing was fetched yet. ${again}Run the same command again.` };
  if (!last) return { consequence: `${words.nothing} ${again}The same command starts over:`, command, keptRows: 0 };
  const { rows, isSealed } = last;
  const consequence = isSealed
    ? `${words.all(rows)}, and only ${words.last} is left. ${again}Finish with:`
    : `${words.committed(rows)}. ${again}Resume with:`;
  return { consequence, command, keptRows: rows };
}

/** Errors that the same command would raise again; their own messages say what to do. */
const permanentErrors: ReadonlySet<SluiceErrorCode> = new Set<SluiceErrorCode>([
  ...([
    'cursor-refused',
    'no-progress',
    'missing-cursor',
    'rows-moved',
    'rows-missing',
    'too-many-pages',
    'secret-in-cursor',
  ] as const),
  ...(['config', 'checkpoint', 'lock', 'response-too-large'] as const),
]);

/** Whether the error's own message advises to restart, since the target is damaged. */
function saysRestart(error: unknown): boolean {
  return SluiceError.is(error, 'sink') && error.advice.some(({ kind }) => kind === 'restart');
}

function canResume(error: unknown, isSealed: boolean): boolean {
  if (!SluiceError.is(error)) return true;
  // A sealed file could not be moved into place: the system's error may pass, but a name that is taken stays taken.
  if (isSealed && error.details['platformCode'] === undefined) return false;
  // The request at the saved cursor is refused, and would be again.
  if (error.code === 'http' && error.details['page'] !== undefined) return false;
  return !permanentErrors.has(error.code);
}

/** An export that ended early. */
interface UnfinishedRun {
  readonly error: unknown;
  /** The target's name in messages. */
  readonly target: string;
  /** Absent if the export was refused, or ended before it started. */
  readonly latest: ExportProgress | undefined;
  /** Absent if it can't be resumed. */
  readonly resuming: Resuming | undefined;
  /** For a webhook only. */
  readonly forwarding?: Forwarding | undefined;
}

/** What an early end means for an export to any target; `undefined` if there is nothing to add to the error. */
export function exportInterruption({
  error,
  target,
  latest,
  resuming,
  forwarding,
}: UnfinishedRun): InterruptionReport | undefined {
  if (resuming) {
    const { committed, kind, commands } = resuming;
    const words = wordsOf[forwarding ? 'webhook' : kind];
    const report = interruptionOf({ error, hasBegun: latest !== undefined, committed, commands, words });
    const hint = ownStateHint(error, forwarding ? 'webhook' : kind);
    if (forwarding) return afterForward(error, report, forwarding, hint);
    return hint === undefined
      ? report
      : { ...report, consequence: [hint, ...(report ? [report.consequence] : [])].join(' ') };
  }
  if (SluiceError.is(error, 'cursor-refused') && target === standardOutputName)
    return { consequence: 'Both need a file (--to FILE); to stdout, run it again.' };
  if (!(error instanceof Interruption)) return undefined;
  const rows = latest?.rows ?? 0;
  return {
    consequence:
      target === standardOutputName
        ? `The output ends early, after ${formatCount(rows, 'row')}.`
        : `${formatCount(rows, 'row was', 'rows were')} fetched; no incomplete file is left. Run the same command again to start over.`,
  };
}

/** Adds what is special about a webhook: it can't undo records, and may have refused some. */
function afterForward(
  error: unknown,
  report: InterruptionReport | undefined,
  { tally, deadLetters }: Forwarding,
  hint: string | undefined,
): InterruptionReport | undefined {
  const sentences = [
    ...(SluiceError.is(error, 'cursor-refused')
      ? ['A service cannot undo a partition, so use --restart: it receives the same records again, with the same ids.']
      : []),
    ...(hint === undefined ? [] : [hint]),
    ...(tally.deadLetters > 0 ? [setAside(tally.deadLetters, deadLetters)] : []),
    ...(report ? [report.consequence] : []),
  ];
  return sentences.length === 0 ? undefined : { ...report, consequence: sentences.join(' ') };
}

/** Phrases about committed rows, by kind of target. */
interface TargetWords {
  readonly committed: (rows: number) => string;
  /** All rows are committed, and only `last` is left to do. */
  readonly all: (rows: number) => string;
  readonly last: string;
  /** No row is committed. */
  readonly nothing: string;
}

const fileWords: TargetWords = {
  committed: (rows) => `${formatCount(rows, 'row')} committed`,
  all: (rows) => `All ${formatCount(rows, 'row')} are written`,
  last: 'moving the file into place',
  nothing: 'No row was committed yet.',
};

/** Records that the webhook received after the last commit are in the spool, and are not sent again. */
export const webhookWords: TargetWords = {
  committed: (rows) =>
    rows === 0
      ? 'No row is lost'
      : `At least ${formatCount(rows, 'row')} ${rows === 1 ? 'is' : 'are'} delivered, and none is lost`,
  all: (rows) => `All ${formatCount(rows, 'row')} are delivered`,
  last: 'cleaning up',
  nothing: 'Nothing was sent yet.',
};

const wordsOf: Readonly<Record<TargetKind, TargetWords>> = {
  file: fileWords,
  stdout: fileWords,
  webhook: webhookWords,
  sink: { ...fileWords, last: 'closing the target' },
  table: { ...fileWords, last: 'making them visible' },
};
