import { SluiceError } from '@sluice/core';
import { type InterruptionReport, Interruption } from '../errors/errors.js';
import { type Forwarding, setAside } from '../target/deliveries.js';
import { ownState } from '../target/statePlace.js';
import type { TargetKind } from '../target/target.js';
import { formatCount } from '../terminal/format.js';

/** How a watch ended before its end. */
export interface WatchEnd {
  readonly fault: unknown;
  /** Polls that had failed in a row, this one left out. */
  readonly failures: number;
  readonly maxFailures: number | undefined;
  /** So many polls were asked for, and the last of them is the fault. */
  readonly lastOf?: number;
  /** The state as people know it, if one is kept. */
  readonly state: string | undefined;
  /** Whether anything is known that a next run can go on with. */
  readonly isKnown: boolean;
  /** The command line as it was given would start over. */
  readonly isRestart: boolean;
  /** What the changes go to. */
  readonly kind: TargetKind;
  /** Of a webhook. */
  readonly forwarding?: Forwarding | undefined;
}

/** What an early end means for a watch; `undefined` if the fault says it all. */
export function watchInterruption(end: WatchEnd): InterruptionReport | undefined {
  const { forwarding, kind } = end;
  const sentences = consequencesOf(end);
  const needed = ownState(end.fault, kind);
  if (needed !== undefined) sentences.push(needed);
  if (forwarding && forwarding.tally.deadLetters > 0)
    sentences.unshift(setAside(forwarding.tally.deadLetters, forwarding.deadLetters));
  return sentences.length === 0 ? undefined : { consequence: sentences.join(' ') };
}

function consequencesOf(end: WatchEnd): string[] {
  const { fault, failures, maxFailures, lastOf, state, isKnown, isRestart } = end;
  const resume = `run the same command${isRestart ? ' without --restart' : ''} to resume.`;
  const kept = state !== undefined && isKnown ? `The state is in ${state}; ${resume}` : '';
  if (fault instanceof Interruption) {
    if (kept !== '') return [kept];
    return state === undefined
      ? ['No state is stored without --state DIR: the same command starts over.']
      : ['No poll has succeeded yet: the same command starts over.'];
  }
  if (SluiceError.is(fault) && fault.fault === 'endpoint') return [`No change is lost; ${resume}`];
  const polled = SluiceError.is(fault) && !['config', 'checkpoint', 'lock', 'sink'].includes(fault.code);
  const isTooMany = polled && maxFailures !== undefined && failures >= maxFailures;
  const many = isTooMany
    ? `That was ${formatCount(failures + 1, 'failed poll')} in a row, more than --max-failures ${String(maxFailures)} allows.`
    : '';
  const last = lastOf === undefined ? '' : `That was the last poll that --polls ${String(lastOf)} allows.`;
  return [many, last, polled ? kept : ''].filter((sentence) => sentence !== '');
}
