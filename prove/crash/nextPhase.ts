import type { Random } from '../../test/kit/random.js';
import { phases, weightOf, type Phase } from './phases.js';

/** The phase that lags behind its weight most; chance decides between those that lag about as much. */
export function nextPhase(
  aimedAt: ReadonlyMap<Phase, number>,
  isPossible: (phase: Phase) => boolean,
  random: Pick<Random, 'int'>,
): Phase {
  const kills = 1 + [...aimedAt.values()].reduce((sum, count) => sum + count, 0);
  const lags = phases.filter(isPossible).map((phase) => {
    const lag = (kills * weightOf(phase)) / 100 - (aimedAt.get(phase) ?? 0);
    return { phase, lag: lag + random.int(0, 99) / 500 };
  });
  const [first] = lags.sort((a, b) => b.lag - a.lag);
  if (!first) throw new Error('No phase is possible.');
  return first.phase;
}
