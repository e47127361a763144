/** The duration in ms of each contestant, by round. */
export type Rounds = Readonly<Record<string, readonly number[]>>;

/**
 * Lets contestants do the same work in turns, A B A B, so that disturbances of the machine affect all of them. A
 * warm-up round is not counted.
 */
export async function compare(
  contestants: Readonly<Record<string, () => Promise<unknown>>>,
  rounds: number,
): Promise<Rounds> {
  const times: Record<string, number[]> = {};
  for (let round = 0; round <= rounds; round += 1) {
    for (const [name, work] of Object.entries(contestants)) {
      const began = performance.now();
      await work();
      if (round > 0) (times[name] ??= []).push(performance.now() - began);
    }
  }
  return times;
}

export function medianOf(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1
    ? (sorted[middle] ?? NaN)
    : ((sorted[middle - 1] ?? NaN) + (sorted[middle] ?? NaN)) / 2;
}
