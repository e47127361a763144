import { medianOf } from './compare.js';

/** One line of the table. */
export interface Figure {
  /** The work, and what it is compared with. */
  readonly work: string;
  readonly against: string;
  readonly median: number;
  /** The middle half of the rounds. */
  readonly from: number;
  readonly to: number;
  readonly unit: 'x' | '%' | 'MiB' | 'ms' | 'bytes' | '';
  readonly goal?: { readonly atLeast: number } | { readonly atMost: number };
}

/** A figure from several rounds. */
export function figureOf(
  { work, against, unit, goal }: Pick<Figure, 'work' | 'against' | 'unit' | 'goal'>,
  rounds: readonly number[],
): Figure {
  const sorted = [...rounds].sort((a, b) => a - b);
  const cut = Math.floor(sorted.length / 4);
  const [from = NaN, to = NaN] = [sorted[cut], sorted[sorted.length - 1 - cut]];
  return { work, against, unit, median: medianOf(sorted), from, to, ...(goal && { goal }) };
}

/** The ratio of two contestants, by round. */
export function ratios<T>(ones: readonly T[], others: readonly T[], of: (effort: T) => number): number[] {
  return ones.map((one, round) => {
    const other = others[round];
    return of(one) / (other === undefined ? NaN : of(other));
  });
}

/** Whether its goal is reached; `undefined` if it has none. */
export function isReached({ goal, median }: Figure): boolean | undefined {
  if (!goal) return undefined;
  return 'atLeast' in goal ? median >= goal.atLeast : median <= goal.atMost;
}
