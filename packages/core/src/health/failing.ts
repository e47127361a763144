/** Nothing has succeeded since then. */
export interface Failing {
  readonly since: number;
  readonly cause: string;
}

/** Shorter waits come and go with each request. Ms. */
export const usualWait = 1_000;
/** Ms without a sign of life until what may only be slow is an outage; longer, where that was usual before. */
const longSilence = 8_000;

export function failing(before: Failing | undefined, now: number, cause: string): Failing {
  return { since: before?.since ?? now, cause };
}

/** @param before how long it was silent the time before */
export function isLongSilence(since: number, before = 0): boolean {
  return since >= Math.max(longSilence, 2 * before);
}
