import type { HttpEvent } from '@sluice/core';
import { inCommandLineWords } from '../faults/inCommandLineWords.js';
import { formatDuration } from './formatDuration.js';

/** Faults that pass within a few attempts are nobody's concern. */
const attemptsUntold = 3;

/**
 * Says that an outage is waited out, once, why, and for how long; and that it is over. Requests under way at once meet the same outage.
 *
 * @returns what there is to say of an event, if anything.
 */
export function outageSentences(): (event: HttpEvent) => string | undefined {
  let isTold = false;
  return (event) => {
    if (event.type === 'retry' && event.attempt >= attemptsUntold && !isTold) {
      isTold = true;
      // The service sets a pause's length, and --retry-for counts little of it.
      const isPause = event.reason === 'rate-limited';
      const isEndless = event.left === Infinity;
      const howLong = isPause
        ? 'as long as the service asks'
        : isEndless
          ? 'until it passes'
          : `for up to ${formatDuration(event.left)} more (--retry-for)`;
      return `Waiting ${howLong}: ${inCommandLineWords(event.error.message)}`;
    }
    if (event.type !== 'settled' || !isTold) return undefined;
    isTold = false;
    return event.outcome === 'answered' ? 'The outage is over: there are answers again.' : undefined;
  };
}
