import { SluiceError, type SluiceErrorCode } from '@sluice/core';
import { Interruption } from '../faults/interruption.js';
import type { Aftermath } from '../faults/unfinishedExport.js';
import { neededAgain } from './neededAgain.js';
import { fileWords, type RemainsWords } from './remainsWords.js';
import type { ResumeCommands } from './resumption.js';
import type { Remains } from './watchedState.js';

/** How an export that can be gone on with ended. */
interface ResumableEnd {
  readonly fault: unknown;
  /** It got past its checks: what the fault says is not about the checkpoint itself. */
  readonly hasBegun: boolean;
  readonly remains: Remains;
  readonly commands: ResumeCommands;
  /** Default: those of a file. */
  readonly words?: RemainsWords;
}

/** What an early end leaves of an export, in the words of the command line; `undefined` if the fault says it all. */
export function aftermathOf(end: ResumableEnd): Aftermath | undefined {
  const { fault, hasBegun, remains, commands, words = fileWords } = end;
  if (fault instanceof Interruption) return afterInterruption(remains, commands, words);
  if (!hasBegun || remains.kind !== 'rows' || saysRestart(fault)) return undefined;
  const { rows, isSealed } = remains;
  const kept = isSealed ? words.all(rows) : words.kept(rows);
  if (!canGoOn(fault, isSealed)) return isSealed ? undefined : { consequence: `${kept}.`, keptRows: rows };
  const same = commands.isRestart ? 'the same command without --restart' : 'the same command';
  return { consequence: `${kept}: ${same} goes on.`, keptRows: rows };
}

function afterInterruption(remains: Remains, commands: ResumeCommands, words: RemainsWords): Aftermath | undefined {
  const again = neededAgain(commands);
  const { goOn } = commands;
  switch (remains.kind) {
    case 'untouched':
      // What an earlier run has left is still there, and so is what was asked for: maybe to start over.
      return { consequence: `Nothing was fetched yet. ${again}Run the same command again.` };
    case 'nothing':
      return { consequence: `${words.nothing} ${again}The same command starts over:`, command: goOn, keptRows: 0 };
    case 'rows': {
      const { rows, isSealed } = remains;
      const consequence = isSealed
        ? `${words.all(rows)}, and only ${words.last} is left. ${again}Finish with:`
        : `${words.kept(rows)}. ${again}Go on with:`;
      return { consequence, command: goOn, keptRows: rows };
    }
  }
}

/** Faults that the same command meets again, whatever time passes: their own message says the way out. */
const stayingFaults: ReadonlySet<SluiceErrorCode> = new Set<SluiceErrorCode>([
  ...(['cursor-refused', 'no-progress', 'missing-cursor', 'rows-moved', 'too-many-pages', 'secret-in-cursor'] as const),
  ...(['config', 'checkpoint', 'lock', 'response-too-large'] as const),
]);

/** Whether a fault says that nothing of use is left: its own message names the way out. */
function saysRestart(fault: unknown): boolean {
  return SluiceError.is(fault, 'sink') && /start over with restart/i.test(fault.message);
}

function canGoOn(fault: unknown, isSealed: boolean): boolean {
  if (!SluiceError.is(fault)) return true;
  // A sealed file that can't be put in place: a disk may get well, a name that is taken stays so.
  if (isSealed && fault.details['platformCode'] === undefined) return false;
  return !stayingFaults.has(fault.code);
}
