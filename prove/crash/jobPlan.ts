import { Random } from '../../test/kit/random.js';
import { formats, type Format } from './exportOrder.js';
import { killsIn, type Kill } from './kill.js';
import { nextPhase } from './nextPhase.js';
import { isRepeated, type Phase } from './phases.js';

/** One export that is killed again and again until it finishes. */
export interface JobPlan {
  /** From 1. It decides everything else, together with the seed. */
  readonly number: number;
  readonly format: Format;
  readonly concurrency: 1 | 4;
  readonly commitEvery: number;
  readonly ifExists: 'fail' | 'overwrite';
  /** One per run, in this order. */
  readonly kills: readonly Kill[];
}

/** Endless jobs, the same for the same seed. No job depends on the outcome of earlier ones. */
export function* jobPlans(seed: number): Generator<JobPlan, never, undefined> {
  const aimedAt = new Map<Phase, number>();
  for (let number = 1; ; number += 1) {
    const random = new Random(`${seed} job ${number}`);
    const setting = settingOf(seed + number, number, random);
    const aims: Phase[] = [];
    for (let left = random.int(4, 7); left > 0; left -= 1) {
      const phase = nextPhase(aimedAt, (each) => isPossible(each, aims, setting), random);
      aimedAt.set(phase, (aimedAt.get(phase) ?? 0) + 1);
      aims.push(phase);
    }
    yield { ...setting, kills: killsIn(aims, setting, random) };
  }
}

/** Any eight jobs in a row have each format with each concurrency. */
function settingOf(turn: number, number: number, random: Random): Omit<JobPlan, 'kills'> {
  return {
    number,
    format: formats[turn % formats.length] ?? 'csv',
    concurrency: (turn + Math.floor(turn / formats.length)) % 2 === 0 ? 1 : 4,
    commitEvery: random.int(1, 8),
    ifExists: random.int(0, 2) === 0 ? 'overwrite' : 'fail',
  };
}

function isPossible(phase: Phase, aims: readonly Phase[], { concurrency }: Pick<JobPlan, 'concurrency'>): boolean {
  if (phase === 'writing segments') return concurrency > 1;
  // There must be something to resume from.
  return phase !== 'going on' || aims.some(isRepeated);
}
