import { SluiceError } from '@sluice/core';
import { Interruption } from '../faults/interruption.js';
import type { Aftermath } from '../faults/unfinishedExport.js';
import { formatCount } from '../terminal/formatNumber.js';

/** How a watch ended before its end. */
export interface WatchEnd {
  readonly fault: unknown;
  /** Polls that had failed in a row, this one left out. */
  readonly failures: number;
  readonly maxFailures: number | undefined;
  /** The state as people know it, if one is kept. */
  readonly state: string | undefined;
  /** Whether anything is known that a next run can go on with. */
  readonly isKnown: boolean;
  /** The command line as it was given would begin anew. */
  readonly isRestart: boolean;
}

/** What an early end means for a watch; `undefined` if the fault says it all. */
export function watchAftermath(end: WatchEnd): Aftermath | undefined {
  const { fault, failures, maxFailures, state, isKnown, isRestart } = end;
  const same = `the same command${isRestart ? ' without --restart' : ''} goes on`;
  const kept = state !== undefined && isKnown ? `What is known is kept in ${state}: ${same}.` : '';
  if (fault instanceof Interruption) {
    if (kept !== '') return { consequence: kept };
    return state === undefined
      ? { consequence: 'Nothing is kept without --state DIR: the same command begins anew.' }
      : { consequence: 'Nothing was known yet: the same command begins anew.' };
  }
  const polled = SluiceError.is(fault) && !['config', 'checkpoint', 'lock', 'sink'].includes(fault.code);
  const isTooMany = polled && maxFailures !== undefined && failures >= maxFailures;
  const many = isTooMany
    ? `That was ${formatCount(failures + 1, 'failed poll')} in a row, more than --max-failures ${String(maxFailures)} allows.`
    : '';
  const sentences = [many, polled ? kept : ''].filter((sentence) => sentence !== '');
  return sentences.length === 0 ? undefined : { consequence: sentences.join(' ') };
}
