import type { Limit } from '@sluice/core';
import { defaultLimit, type RateUse } from '@sluice/core/kit';
import { formatDuration } from '../terminal/format.js';
import type { Progress } from './exportProgress.js';

/** Shorter waits are not worth a change. Ms, and share of the run. */
const worthwhile = { wait: 1_000, share: 0.1 };

/**
 * Says how long `--rate` held a run up; `undefined` if it did not, or another limit did.
 *
 * @param rate of the option, if it was given.
 * @param use of the limiter that the run had.
 */
export function rateAdvice(
  { waited, elapsed, requests: sent }: Pick<Progress, 'waited' | 'elapsed' | 'requests'>,
  rate: Limit | false | undefined,
  use: RateUse | undefined,
): string | undefined {
  if (rate === false) return undefined;
  const { requests, per } = rate ?? defaultLimit;
  if (use?.limit !== requests || use.per !== per) return undefined;
  if (waited < worthwhile.wait || waited < worthwhile.share * elapsed) return undefined;
  // The rate lets this many start in the meantime. With far fewer, it was a quota or a pause that held the run up.
  if (sent < ((waited / per) * requests) / 2) return undefined;
  const unit = { 1_000: 's', 60_000: 'm', 3_600_000: 'h', 86_400_000: 'd' }[per] ?? `${String(per)} ms`;
  const shown = `${String(requests)}/${unit}${rate === undefined ? ', the default' : ''}`;
  return `Waited ${formatDuration(waited)} of ${formatDuration(elapsed)} for --rate (${shown}); raise it if your plan allows more.`;
}
