import { medianOf } from './compare.js';

/** One line of the table. */
export interface Figure {
  /** What was done, and how it is measured against what. */
  readonly work: string;
  readonly against: string;
  readonly median: number;
  /** The middle half of the rounds. */
  readonly from: number;
  readonly to: number;
  readonly unit: 'x' | '%' | 'MiB' | 'ms' | 'bytes' | '';
  readonly goal?: { readonly atLeast: number } | { readonly atMost: number };
}

/** A figure of some rounds. */
export function figureOf(
  { work, against, unit, goal }: Pick<Figure, 'work' | 'against' | 'unit' | 'goal'>,
  rounds: readonly number[],
): Figure {
  const sorted = [...rounds].sort((a, b) => a - b);
  const cut = Math.floor(sorted.length / 4);
  const [from = NaN, to = NaN] = [sorted[cut], sorted[sorted.length - 1 - cut]];
  return { work, against, unit, median: medianOf(sorted), from, to, ...(goal && { goal }) };
}

/** How much of one there is for one of the other, round by round. */
export function ratios<T>(ones: readonly T[], others: readonly T[], of: (effort: T) => number): number[] {
  return ones.map((one, round) => {
    const other = others[round];
    return of(one) / (other === undefined ? NaN : of(other));
  });
}

/** Whether it is as good as it should be; `undefined` where nothing is asked for. */
export function isReached({ goal, median }: Figure): boolean | undefined {
  if (!goal) return undefined;
  return 'atLeast' in goal ? median >= goal.atLeast : median <= goal.atMost;
}
