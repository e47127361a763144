import type { Clock } from '@sluice/core';
import { every } from '../progress/reporter.js';
import type { Wait } from '../progress/waits.js';

/** Shorter waits of a poll are not reported, in ms. */
const longWait = 10_000;
const lookEvery = 1_000;

/** Reports each long wait once, from now on. Returns a function that ends this. */
export function onLongWaits(current: () => Wait | undefined, clock: Clock, report: (wait: Wait) => void): () => void {
  let reported: Wait['kind'] | undefined;
  return every(clock, lookEvery, () => {
    const wait = current();
    if (wait?.kind !== reported) reported = undefined;
    if (!wait || reported !== undefined || lengthOf(wait) < longWait) return;
    reported = wait.kind;
    report(wait);
  });
}

function lengthOf(wait: Wait): number {
  if ('left' in wait) return wait.left;
  return 'since' in wait ? wait.since : 0;
}
