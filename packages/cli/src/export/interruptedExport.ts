import { type ExportProgress, SluiceError, type SluiceErrorCode } from '@sluice/core';
import type { Checkpoint } from '@sluice/core/kit';
import { type InterruptionReport, Interruption, TimeUp } from '../errors/errors.js';
import { setAside } from '../target/deliveries.js';
import { ownStateHint } from '../target/statePlace.js';
import { type Target, type TargetKind, targetWords } from '../target/target.js';
import { formatCount, formatNumber } from '../terminal/format.js';
import { countDone } from './messages.js';
import { type CommittedState, neededAgain, type ResumeCommands, type Resuming } from './resume.js';

/** The early end of an export that can be resumed. */
interface ResumableEnd {
  readonly error: unknown;
  /** The export passed its checks, so the error is not about the checkpoint itself. */
  readonly hasBegun: boolean;
  readonly committed: Pick<CommittedState, 'isKnown'> & {
    readonly last?: Pick<Checkpoint, 'rows' | 'isSealed'> | undefined;
  };
  readonly commands: ResumeCommands;
  /** Of the target. */
  readonly kind: TargetKind;
  /** What is left, after what is committed. Default: nothing is said. */
  readonly left?: string | undefined;
}

/** What an early end means for an export; `undefined` if there is nothing to add to the error. */
export function describeInterruption(end: ResumableEnd): InterruptionReport | undefined {
  const { error, hasBegun, committed, commands, kind, left = '' } = end;
  const { last, isKnown } = committed;
  const { done, last: step } = targetWords[kind];
  const isStopped = error instanceof Interruption;
  if (isStopped && !last) return interruptedBefore(isKnown, kind, commands);
  if (!last || (!isStopped && (!hasBegun || saysRestart(error)))) return undefined;
  const { rows: keptRows, isSealed = false } = last;
  const outcome = isSealed ? `All ${formatCount(keptRows, 'row')} are ${done}` : committedText(keptRows, kind);
  const same = commands.isRestart ? 'the same command without --restart' : 'the same command';
  // A scheduler runs the same command again, so one line is enough.
  if (error instanceof TimeUp) {
    const rest = isSealed ? `, and only ${step} is left` : left;
    return { consequence: `${outcome}${rest}. ${neededAgain(commands)}Run ${same} to resume.`, keptRows };
  }
  if (isStopped) {
    const again = neededAgain(commands);
    const next = isSealed ? `, and only ${step} is left. ${again}Finish with:` : `. ${again}Resume with:`;
    return { consequence: `${outcome}${next}`, command: commands.resume, keptRows };
  }
  if (!canResume(error, isSealed)) return isSealed ? undefined : { consequence: `${outcome}.`, keptRows };
  return { consequence: `${outcome}; run ${same} to resume.`, keptRows };
}

/** @param isKnown whether the export has looked for a checkpoint. Any earlier one is unchanged. */
function interruptedBefore(isKnown: boolean, kind: TargetKind, commands: ResumeCommands): InterruptionReport {
  const again = neededAgain(commands);
  // So repeat the command as it was given, with --restart if it had that.
  if (!isKnown) return { consequence: `Nothing was fetched yet. ${again}Run the same command again.` };
  const nothing = kind === 'webhook' ? 'Nothing was sent yet.' : 'No row was committed yet.';
  return { consequence: `${nothing} ${again}The same command starts over:`, command: commands.resume, keptRows: 0 };
}

/** Records that a webhook received after the last commit are in the spool, and are not sent again. */
function committedText(rows: number, kind: TargetKind): string {
  if (kind !== 'webhook') return `${formatCount(rows, 'row')} committed`;
  if (rows === 0) return 'No row is lost';
  return `At least ${formatCount(rows, 'row is', 'rows are')} delivered, and none is lost`;
}

/** @example leftText(checkpoint, 12_345) // ', and 7,945 are left' */
function leftText({ rows, partitions = Infinity, position }: Checkpoint, total = 0): string {
  if (total > rows) return `, and ${formatNumber(total - rows)} are left`;
  const left = partitions - countDone(position);
  if (left === Infinity || partitions === 1) return '';
  return `, and ${formatNumber(left)} of ${formatCount(partitions, 'partition')} are left`;
}

/** Errors that the same command would raise again; their own messages say what to do. */
const permanentErrors: ReadonlySet<SluiceErrorCode> = new Set<SluiceErrorCode>([
  'cursor-refused',
  'no-progress',
  'missing-cursor',
  'rows-moved',
  'rows-missing',
  'rows-repeated',
  'too-many-pages',
  'secret-in-cursor',
  'config',
  'checkpoint',
  'lock',
  'response-too-large',
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
  readonly target: Pick<Target<never>, 'kind' | 'forwarding'>;
  /** Absent if the export was refused, or ended before it started. */
  readonly latest: ExportProgress | undefined;
  /** Rows that it exports in the end, if the API says how many there are. */
  readonly total?: number | undefined;
  /** Absent if it can't be resumed. */
  readonly resuming: Resuming | undefined;
  readonly deadLetters: number;
}

/** What an early end means for an export to any target; `undefined` if there is nothing to add to the error. */
export function exportInterruption(end: UnfinishedRun): InterruptionReport | undefined {
  const { error, target, latest, total, resuming, deadLetters } = end;
  const { kind, forwarding } = target;
  const isRefused = SluiceError.is(error, 'cursor-refused');
  if (resuming) {
    const { committed, commands } = resuming;
    const left = committed.last && leftText(committed.last, total);
    const report = describeInterruption({ error, hasBegun: latest !== undefined, committed, commands, kind, left });
    const sentences = [
      forwarding && isRefused
        ? 'A service cannot undo a partition, so use --restart: it receives the same records again, with the same ids.'
        : undefined,
      ownStateHint(error, kind),
      setAside(deadLetters, forwarding),
      report?.consequence,
    ].filter((sentence) => sentence !== undefined);
    return sentences.length === 0 ? undefined : { ...report, consequence: sentences.join(' ') };
  }
  if (isRefused && kind === 'stdout') return { consequence: 'Both need a file (--to FILE); to stdout, run it again.' };
  if (!(error instanceof Interruption)) return undefined;
  const rows = latest?.rows ?? 0;
  return {
    consequence:
      kind === 'stdout'
        ? `The output ends early, after ${formatCount(rows, 'row')}.`
        : `${formatCount(rows, 'row was', 'rows were')} fetched; no incomplete file is left. Run the same command again to start over.`,
  };
}
