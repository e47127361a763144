/** At most `max` cost units may start in any `span` ms. */
export interface StartWindow {
  readonly max: number;
  readonly span: number;
}

/** One start in the past, by the monotonic clock. */
export interface Start {
  readonly at: number;
  /** What it counts in each window, in the windows' order. */
  readonly costs: readonly number[];
}

/**
 * When a request of these costs may start, at `now` or later, given the actual starts so far (oldest first).
 *
 * It looks at what really happened rather than at what was planned, so that a stalled process neither bursts afterwards
 * nor loses its share.
 */
export function earliestStart(
  starts: readonly Start[],
  windows: readonly StartWindow[],
  costs: readonly number[],
  now: number,
): number {
  let earliest = now;
  windows.forEach((window, w) => {
    let room = window.max - (costs[w] ?? 1);
    // From the newest back: the first start that doesn't fit any more has to leave the window before we may begin.
    for (let i = starts.length - 1; i >= 0; i -= 1) {
      const start = starts[i];
      if (!start || start.at + window.span <= earliest) break;
      room -= start.costs[w] ?? 1;
      if (room < 0) {
        earliest = start.at + window.span;
        break;
      }
    }
  });
  return earliest;
}

/** The starts that can still matter at `now`. */
export function recentStarts(starts: readonly Start[], windows: readonly StartWindow[], now: number): Start[] {
  const span = Math.max(0, ...windows.map((window) => window.span));
  return starts.filter((start) => start.at + span > now);
}
