import { describe, expect, test } from 'vitest';
import { phases, weightOf, type Phase } from './phases.js';
import { shortcomings, tallyOf, type KillOutcome } from './tally.js';

/** The given number of kills, each without a difference. */
function killsIn(counts: Partial<Record<Phase, number>>): KillOutcome[] {
  return phases.flatMap((phase) =>
    Array.from({ length: counts[phase] ?? 0 }, () => ({ phase, fetchedAgain: 0, differences: [] })),
  );
}

const asPlanned = Object.fromEntries(phases.map((phase) => [phase, weightOf(phase)]));

test('a table has a row for every phase, with its worst result', () => {
  const tally = tallyOf([
    { phase: 'sealing', fetchedAgain: 2, differences: [] },
    { phase: 'sealing', fetchedAgain: 5, differences: ['one', 'two'] },
    { phase: 'sealing', fetchedAgain: 3, differences: ['one'] },
  ]);
  expect(tally.map(({ phase }) => phase)).toEqual(phases);
  expect(tally.find(({ phase }) => phase === 'sealing')).toEqual({
    phase: 'sealing',
    kills: 3,
    differences: 2,
    maxFetchedAgain: 5,
  });
  expect(tally.find(({ phase }) => phase === 'fetching')).toEqual({
    phase: 'fetching',
    kills: 0,
    differences: 0,
    maxFetchedAgain: 0,
  });
});

describe('a table lacks', () => {
  test('nothing if the kills happened as planned', () => {
    expect(shortcomings(tallyOf(killsIn(asPlanned)), 100)).toEqual([]);
  });

  test.each(phases)('a phase that was never hit: %s', (phase) => {
    const others = killsIn({ ...asPlanned, fetching: 60, 'writing rows': 60, [phase]: 0 });
    expect(shortcomings(tallyOf(others), 100)).toEqual([`No kill hit ${phase}.`]);
  });

  test('kills if fewer happened than planned', () => {
    expect(shortcomings(tallyOf(killsIn(asPlanned)), 101)).toEqual([
      'Only 100 of 101 kills happened: the others came too late.',
    ]);
  });

  test.each<[Phase, number, number]>([
    ['setting up', 10, 0],
    ['setting up', 11, 1],
    ['sealing', 9, 0],
    ['sealing', 10, 1],
    ['putting in place', 11, 1],
    ['clearing away', 10, 1],
  ])('kills between the rows and the seal if %s has %i of 100', (phase, kills, sentences) => {
    const fetching = weightOf('fetching') + weightOf(phase) - kills;
    expect(shortcomings(tallyOf(killsIn({ ...asPlanned, fetching, [phase]: kills })), 100)).toHaveLength(sentences);
  });

  test('everything if nothing happened', () => {
    expect(shortcomings(tallyOf([]), 1)).toHaveLength(phases.length + 2);
  });
});
