import { systemClock } from '@sluice/core';
import { Failure, TimeUp } from '../errors/errors.js';
import type { Environment } from './environment.js';

/**
 * Runs a command, and interrupts it as a signal does when its time is over. The time is that of the monotonic clock, so
 * setting the wall clock changes nothing.
 *
 * @param maxTime in ms; absent: without an end.
 */
export async function withinTime<R>(
  maxTime: number | undefined,
  environment: Environment,
  work: (environment: Environment) => Promise<R>,
): Promise<R> {
  if (maxTime === undefined) return work(environment);
  const endsAt = systemClock.monotonic() + maxTime;
  const cancel = systemClock.after(maxTime, () => {
    environment.interrupt(new TimeUp());
  });
  try {
    return await work({ ...environment, endsAt });
  } catch (error) {
    // A run that has begun says what it has done.
    if (!(error instanceof TimeUp)) throw error;
    throw new Failure('--max-time was over before anything had begun. Give it more time.');
  } finally {
    cancel();
  }
}
