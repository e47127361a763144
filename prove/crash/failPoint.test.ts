import { expect, test } from 'vitest';
import { Countdown } from './failPoint.js';
import type { Phase } from './phases.js';

/** The results of a countdown for operations of these phases, each with the pages written by then. */
function answers(countdown: Countdown, operations: readonly (readonly [Phase, number])[]): (string | undefined)[] {
  return operations.map(([phase, pages]) => countdown.next(phase, pages));
}

test('a process dies at the nth operation of the phase, after the given number of pages', () => {
  const countdown = new Countdown({ phase: 'writing rows', afterPages: 2, nth: 2, moment: 'half-way' });
  expect(
    answers(countdown, [
      ['writing rows', 1],
      ['writing rows', 2],
      ['syncing rows', 3],
      ['writing rows', 3],
    ]),
  ).toEqual([undefined, undefined, undefined, 'half-way']);
});

test('if a phase that is passed once has fewer operations, it dies when the next phase starts', () => {
  const countdown = new Countdown({ phase: 'sealing', afterPages: 0, nth: 9, moment: 'after' });
  expect(
    answers(countdown, [
      ['writing rows', 1],
      ['sealing', 1],
      ['sealing', 1],
      ['putting in place', 1],
    ]),
  ).toEqual([undefined, undefined, undefined, 'before']);
});

test('or at the end, if no phase follows', () => {
  const countdown = new Countdown({ phase: 'clearing away', afterPages: 0, nth: 9, moment: 'after' });
  expect(countdown.isOverdue).toBe(false);
  expect(countdown.next('clearing away', 1)).toBeUndefined();
  expect(countdown.isOverdue).toBe(true);
});

test('it survives if the run does not reach the phase', () => {
  const countdown = new Countdown({ phase: 'going on', afterPages: 0, nth: 1, moment: 'after' });
  expect(
    answers(countdown, [
      ['setting up', 0],
      ['writing rows', 1],
      ['sealing', 1],
    ]),
  ).toEqual([undefined, undefined, undefined]);
  expect(countdown.isOverdue).toBe(false);
});

test('it survives if a repeated phase occurs too seldom', () => {
  const countdown = new Countdown({ phase: 'syncing rows', afterPages: 0, nth: 3, moment: 'after' });
  expect(
    answers(countdown, [
      ['syncing rows', 1],
      ['writing rows', 2],
      ['sealing', 2],
    ]),
  ).toEqual([undefined, undefined, undefined]);
  expect(countdown.isOverdue).toBe(false);
});
