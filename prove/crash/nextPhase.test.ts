import { expect, test } from 'vitest';
import { nextPhase } from './nextPhase.js';
import { phases, weightOf, type Phase } from './phases.js';

const anyPhase = (): boolean => true;
const noChance = { int: (): number => 0 };

test('the weights are percentages of the whole', () => {
  expect(phases.reduce((sum, phase) => sum + weightOf(phase), 0)).toBe(100);
});

test.each(phases)('a kill is aimed at %s if only that lags behind its weight', (phase) => {
  const aimedAt = new Map(phases.map((each) => [each, each === phase ? 0 : weightOf(each)]));
  expect(nextPhase(aimedAt, anyPhase, noChance)).toBe(phase);
});

test('an impossible phase is skipped, however far it lags behind', () => {
  const aimedAt = new Map<Phase, number>([['fetching', 100]]);
  expect(nextPhase(aimedAt, (phase) => phase === 'fetching', noChance)).toBe('fetching');
});

test('chance decides only between phases that lag about as much', () => {
  const aimedAt = new Map(phases.map((each) => [each, each === 'sealing' ? 0 : weightOf(each)]));
  for (let chance = 0; chance < 100; chance += 1)
    expect(nextPhase(aimedAt, anyPhase, { int: () => chance })).toBe('sealing');
});
