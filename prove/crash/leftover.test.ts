import { expect, test } from 'vitest';
import { faultAfterKill, faultAtEnd, type Leftover } from './leftover.js';
import { phases, type Phase } from './phases.js';

function left(
  target: Leftover['target'],
  checkpoint: Leftover['checkpoint'] = 'sealed',
  others: string[] = [],
): Leftover {
  return { target, checkpoint, hasRows: true, others };
}

test.each(phases)('a final name with other content is wrong after a kill in %s', (phase) => {
  expect(faultAfterKill(left('wrong'), phase)).toContain('something else');
});

test.each<[Phase, Leftover, boolean]>([
  ['setting up', left('absent', 'none'), true],
  ['fetching', left('absent', 'open'), true],
  ['fetching', left('earlier', 'open'), true],
  ['fetching', left('complete', 'open'), false],
  ['saving the checkpoint', left('complete', 'open'), false],
  ['sealing', left('absent'), true],
  ['sealing', left('complete'), false],
  ['putting in place', left('absent'), true],
  ['putting in place', left('earlier'), true],
  ['putting in place', left('complete'), true],
  ['putting in place', left('absent', 'none'), false],
  ['putting in place', left('complete', 'none'), false],
  ['putting in place', left('complete', 'open'), false],
  ['clearing away', left('complete'), true],
  ['clearing away', left('complete', 'none'), true],
  ['clearing away', left('absent'), false],
  ['clearing away', left('earlier', 'none'), false],
])('after a kill in %s, %j is right: %s', (phase, found, isRight) => {
  expect(faultAfterKill(found, phase) === undefined).toBe(isRight);
});

test.each<[Leftover, RegExp | undefined]>([
  [left('complete', 'finished'), undefined],
  [left('complete', 'finished', ['holdings.csv.part']), /holdings\.csv\.part was left behind/],
  [left('wrong', 'none'), /not those of an undisturbed run/],
  [left('earlier', 'none'), /not those of an undisturbed run/],
  [left('absent', 'none'), /no file/],
])('at the end, %j is reported as: %s', (found, said) => {
  const fault = faultAtEnd(found);
  if (said) expect(fault).toMatch(said);
  else expect(fault).toBeUndefined();
});
