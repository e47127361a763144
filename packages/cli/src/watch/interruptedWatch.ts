import { SluiceError } from '@sluice/core';
import { type InterruptionReport, Interruption } from '../errors/errors.js';
import { type ForwardPlaces, setAside } from '../target/deliveries.js';
import { ownStateHint } from '../target/statePlace.js';
import type { TargetKind } from '../target/target.js';
import { formatCount } from '../terminal/format.js';

/** The early end of a watch. */
interface WatchEnd {
  readonly error: unknown;
  /** Consecutive failed polls before this one. */
  readonly failures: number;
  readonly maxFailures: number | undefined;
  /** The value of `--polls`, if the last poll failed. */
  readonly lastOf?: number | undefined;
  /** The name of the state, if there is one. */
  readonly state: string | undefined;
  /** Whether the state contains a snapshot to resume from. */
  readonly isKnown: boolean;
  /** The command line had `--restart`. */
  readonly isRestart: boolean;
  /** Of the target. */
  readonly kind: TargetKind;
  /** For a webhook only. */
  readonly forwarding?: ForwardPlaces | undefined;
  readonly deadLetters: number;
}

/** What an early end means for a watch; `undefined` if there is nothing to add to the error. */
export function watchInterruption(end: WatchEnd): InterruptionReport | undefined {
  const { error, forwarding, deadLetters, kind } = end;
  const isTaken = kind === 'file' && SluiceError.is(error) && error.advice.some(({ option }) => option === 'ifExists');
  const sentences = [
    setAside(deadLetters, forwarding),
    ...listConsequences(end),
    ownStateHint(error, kind),
    isTaken
      ? 'If a watch has written it, give its --state DIR to resume: to overwrite it discards the changes in it.'
      : undefined,
  ].filter((sentence) => sentence !== undefined);
  return sentences.length === 0 ? undefined : { consequence: sentences.join(' ') };
}

function listConsequences(end: WatchEnd): string[] {
  const { error, failures, maxFailures, lastOf, state, isKnown, isRestart } = end;
  const resume = `run the same command${isRestart ? ' without --restart' : ''} to resume.`;
  const kept = state !== undefined && isKnown ? `The state is in ${state}; ${resume}` : '';
  if (error instanceof Interruption) {
    if (kept !== '') return [kept];
    return state === undefined
      ? ['No state is stored without --state DIR: the same command starts over.']
      : ['No poll has succeeded yet: run the same command again.'];
  }
  if (SluiceError.is(error) && error.fault === 'endpoint') return [`No change is lost; ${resume}`];
  const polled = SluiceError.is(error) && !['config', 'checkpoint', 'lock', 'sink'].includes(error.code);
  const isTooMany = polled && maxFailures !== undefined && failures >= maxFailures;
  const many = isTooMany
    ? `That was ${formatCount(failures + 1, 'failed poll')} in a row, more than --max-failures ${String(maxFailures)} allows.`
    : '';
  const last = lastOf === undefined ? '' : `That was the last poll that --polls ${String(lastOf)} allows.`;
  return [many, last, polled ? kept : ''].filter((sentence) => sentence !== '');
}
