/** A time between two polls, in ms since 1970. */
export interface Gap {
  readonly from: number;
  readonly to: number;
}

/** An interval between polls is a gap if it is so many times longer than the usual one. */
const factor = 3;
/** Gaps that are shown: the longest ones. */
const maxGaps = 500;
/** Buckets of intervals: each one is a twentieth longer than the one before. */
const base = Math.log(1.05);

/**
 * Times in which nobody looked: intervals between polls that are more than three times as long as the median one. Counts
 * intervals by their length, so its size does not grow with the polls.
 */
export class PollGaps {
  readonly #intervals = new Map<number, number>();
  #longest: Gap[] = [];
  polls = 0;
  first: number | undefined;
  last: number | undefined;

  /** @param at in ms since 1970, later than the one before */
  add(at: number): void {
    this.polls += 1;
    const from = this.last;
    this.first ??= at;
    this.last = at;
    if (from === undefined || at <= from) return;
    const bucket = Math.round(Math.log(at - from) / base);
    this.#intervals.set(bucket, (this.#intervals.get(bucket) ?? 0) + 1);
    this.#longest.push({ from, to: at });
    if (this.#longest.length > 4 * maxGaps) this.#longest = longest(this.#longest);
  }

  /** In the order of time. */
  list(): readonly Gap[] {
    const limit = factor * this.#median();
    return longest(this.#longest)
      .filter(({ from, to }) => to - from > limit)
      .toSorted((one, other) => one.from - other.from);
  }

  /** In ms, to a twentieth. */
  #median(): number {
    const buckets = [...this.#intervals].toSorted(([one], [other]) => one - other);
    const half = buckets.reduce((sum, [, count]) => sum + count, 0) / 2;
    let below = 0;
    for (const [bucket, count] of buckets) {
      below += count;
      if (below >= half) return Math.exp(bucket * base);
    }
    return Infinity;
  }
}

function longest(gaps: readonly Gap[]): Gap[] {
  return gaps.toSorted((one, other) => other.to - other.from - (one.to - one.from)).slice(0, maxGaps);
}

/** How much of a time nobody looked, in ms. */
export function unseenTime({ from, to }: Gap, gaps: readonly Gap[]): number {
  return gaps.reduce((sum, gap) => sum + Math.max(0, Math.min(to, gap.to) - Math.max(from, gap.from)), 0);
}
