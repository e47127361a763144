/** At most `max` cost units may start in any `span` ms. */
export interface StartWindow {
  readonly max: number;
  readonly span: number;
}

/** One start, by the monotonic clock. */
export interface Start {
  /** When it was written; before that, the latest time until which it is waited for. */
  readonly at: number;
  /** Its cost in each window, in the order of the windows. */
  readonly costs: readonly number[];
}

/**
 * When a request of these costs may start, at `now` or later, given the starts so far (oldest first).
 *
 * It uses actual starts, not planned ones, so a stalled process neither bursts afterwards nor loses its share.
 */
export function earliestStart(
  starts: readonly Start[],
  windows: readonly StartWindow[],
  costs: readonly number[],
  now: number,
): number {
  let earliest = now;
  windows.forEach((window, w) => {
    let capacity = window.max - (costs[w] ?? 1);
    // From newest to oldest: the first start that does not fit must leave the window first.
    for (let i = starts.length - 1; i >= 0; i -= 1) {
      const start = starts[i];
      if (!start || start.at + window.span <= earliest) break;
      capacity -= start.costs[w] ?? 1;
      if (capacity < 0) {
        earliest = start.at + window.span;
        break;
      }
    }
  });
  return earliest;
}

/** The starts without one of them, whose request will not be written. */
export function withoutStart(starts: readonly Start[], start: Start): Start[] {
  return starts.filter((other) => other !== start);
}

/** The starts with one more, oldest first. */
export function withStart(starts: readonly Start[], start: Start): Start[] {
  const next = starts.findLastIndex(({ at }) => at <= start.at) + 1;
  return [...starts.slice(0, next), start, ...starts.slice(next)];
}

/** The starts that can still matter at `now`. */
export function recentStarts(starts: readonly Start[], windows: readonly StartWindow[], now: number): Start[] {
  const span = Math.max(0, ...windows.map((window) => window.span));
  return starts.filter((start) => start.at + span > now);
}
