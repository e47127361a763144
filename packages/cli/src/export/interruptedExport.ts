import { type ExportProgress, SluiceError, type SluiceErrorCode } from '@sluice/core';
import { type InterruptionReport, Interruption } from '../errors/errors.js';
import { type Forwarding, setAside } from '../target/deliveries.js';
import { ownState } from '../target/statePlace.js';
import type { TargetKind } from '../target/target.js';
import { formatCount } from '../terminal/format.js';
import { type Kept, neededAgain, type ResumeCommands, type Resuming } from './resume.js';
import { standardOutputName } from './rowSink.js';

/** How an export that can be resumed ended. */
interface ResumableEnd {
  readonly fault: unknown;
  /** It got past its checks: what the fault says is not about the checkpoint itself. */
  readonly hasBegun: boolean;
  readonly kept: Pick<Kept, 'last' | 'isKnown'>;
  readonly commands: ResumeCommands;
  /** Default: those of a file. */
  readonly words?: RemainsWords;
}

/** What an early end leaves of an export, in the words of the command line; `undefined` if the fault says it all. */
export function interruptionOf(end: ResumableEnd): InterruptionReport | undefined {
  const { fault, hasBegun, kept, commands, words = fileWords } = end;
  if (fault instanceof Interruption) return afterInterruption(kept, commands, words);
  if (!hasBegun || !kept.last || saysRestart(fault)) return undefined;
  const { rows, isSealed = false } = kept.last;
  const outcome = isSealed ? words.all(rows) : words.kept(rows);
  if (!canGoOn(fault, isSealed)) return isSealed ? undefined : { consequence: `${outcome}.`, keptRows: rows };
  const same = commands.isRestart ? 'the same command without --restart' : 'the same command';
  return { consequence: `${outcome}; run ${same} to resume.`, keptRows: rows };
}

function afterInterruption(
  { last, isKnown }: Pick<Kept, 'last' | 'isKnown'>,
  commands: ResumeCommands,
  words: RemainsWords,
): InterruptionReport {
  const again = neededAgain(commands);
  const { goOn: command } = commands;
  // What an earlier run has left is still there, and so is what was asked for: maybe to start over.
  if (!isKnown) return { consequence: `Nothing was fetched yet. ${again}Run the same command again.` };
  if (!last) return { consequence: `${words.nothing} ${again}The same command starts over:`, command, keptRows: 0 };
  const { rows, isSealed } = last;
  const consequence = isSealed
    ? `${words.all(rows)}, and only ${words.last} is left. ${again}Finish with:`
    : `${words.kept(rows)}. ${again}Resume with:`;
  return { consequence, command, keptRows: rows };
}

/** Faults that the same command meets again, whatever time passes: their own message says the way out. */
const stayingFaults: ReadonlySet<SluiceErrorCode> = new Set<SluiceErrorCode>([
  ...(['cursor-refused', 'no-progress', 'missing-cursor', 'rows-moved', 'too-many-pages', 'secret-in-cursor'] as const),
  ...(['config', 'checkpoint', 'lock', 'response-too-large'] as const),
]);

/** Whether a fault says that nothing of use is left: its own message names the way out. */
function saysRestart(fault: unknown): boolean {
  return SluiceError.is(fault, 'sink') && fault.advice.some(({ kind }) => kind === 'restart');
}

function canGoOn(fault: unknown, isSealed: boolean): boolean {
  if (!SluiceError.is(fault)) return true;
  // A sealed file that can't be put in place: a disk may get well, a name that is taken stays so.
  if (isSealed && fault.details['platformCode'] === undefined) return false;
  return !stayingFaults.has(fault.code);
}

/** How far an export came before it ended early. */
interface UnfinishedRun {
  readonly fault: unknown;
  /** What people call the target. */
  readonly target: string;
  /** Absent where it was refused, or stopped before it had begun. */
  readonly latest: ExportProgress | undefined;
  /** Absent where nothing can be resumed. */
  readonly resuming: Resuming | undefined;
  /** Of a webhook. */
  readonly forwarding?: Forwarding | undefined;
}

/** What an early end leaves of an export, wherever it went; `undefined` if the fault says it all. */
export function exportInterruption({
  fault,
  target,
  latest,
  resuming,
  forwarding,
}: UnfinishedRun): InterruptionReport | undefined {
  if (resuming) {
    const { kept, kind, commands } = resuming;
    const words = wordsOf[forwarding ? 'webhook' : kind];
    const left = interruptionOf({ fault, hasBegun: latest !== undefined, kept, commands, words });
    const needed = ownState(fault, forwarding ? 'webhook' : kind);
    if (forwarding) return afterForward(fault, left, forwarding, needed);
    return needed === undefined
      ? left
      : { ...left, consequence: [needed, ...(left ? [left.consequence] : [])].join(' ') };
  }
  if (SluiceError.is(fault, 'cursor-refused') && target === standardOutputName)
    return { consequence: 'Both need a file (--to FILE); to stdout, run it again.' };
  if (!(fault instanceof Interruption)) return undefined;
  const rows = latest?.rows ?? 0;
  return {
    consequence:
      target === standardOutputName
        ? `The output ends early, after ${formatCount(rows, 'row')}.`
        : `${formatCount(rows, 'row was', 'rows were')} fetched; no incomplete file is left. Run the same command again to start over.`,
  };
}

/** A webhook gives no rows back, and keeps what it refused out of sight. */
function afterForward(
  fault: unknown,
  left: InterruptionReport | undefined,
  { tally, deadLetters }: Forwarding,
  needed: string | undefined,
): InterruptionReport | undefined {
  const outcome = [
    ...(SluiceError.is(fault, 'cursor-refused')
      ? ['A service cannot undo a partition, so use --restart: it receives the same records again, with the same ids.']
      : []),
    ...(needed === undefined ? [] : [needed]),
    ...(tally.deadLetters > 0 ? [setAside(tally.deadLetters, deadLetters)] : []),
    ...(left ? [left.consequence] : []),
  ];
  return outcome.length === 0 ? undefined : { ...left, consequence: outcome.join(' ') };
}

/** What people are told of that which an export leaves, by what it went to. */
interface RemainsWords {
  /** So many rows are committed. */
  readonly kept: (rows: number) => string;
  /** All of them are, and only this is left to do. */
  readonly all: (rows: number) => string;
  readonly last: string;
  /** No row is committed. */
  readonly nothing: string;
}

const fileWords: RemainsWords = {
  kept: (rows) => `${formatCount(rows, 'row')} committed`,
  all: (rows) => `All ${formatCount(rows, 'row')} are written`,
  last: 'moving the file into place',
  nothing: 'No row was committed yet.',
};

/** What a webhook got beyond the last commit is in the spool, and is not sent again. */
export const webhookWords: RemainsWords = {
  kept: (rows) =>
    rows === 0
      ? 'No row is lost'
      : `At least ${formatCount(rows, 'row')} ${rows === 1 ? 'is' : 'are'} delivered, and none is lost`,
  all: (rows) => `All ${formatCount(rows, 'row')} are delivered`,
  last: 'cleaning up',
  nothing: 'Nothing was sent yet.',
};

/** What becomes of rows in a sink of a plugin's is for its plugin to say: they are there. */
const sinkWords: RemainsWords = {
  ...fileWords,
  all: (rows) => `All ${formatCount(rows, 'row')} are written`,
  last: 'closing the target',
};

const wordsOf: Readonly<Record<TargetKind, RemainsWords>> = {
  file: fileWords,
  stdout: fileWords,
  webhook: webhookWords,
  sink: sinkWords,
};
