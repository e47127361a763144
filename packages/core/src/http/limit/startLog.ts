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

/** How many starts that have left all windows are kept, before they are removed together. */
const mostKept = 1_000;

/**
 * The starts so far. It counts actual starts, not planned ones, so a stalled process neither bursts afterwards nor loses
 * its share. Its times are monotonic. To ask it costs the same however many starts a window has.
 */
export class StartLog {
  readonly #windows: readonly WindowUse[];
  /** Oldest first. */
  #written: Start[] = [];
  /** Of requests that are not written yet, in the order in which they are given up. There are few, each with a permit. */
  readonly #pending = new Set<Start>();

  constructor(windows: readonly StartWindow[]) {
    this.#windows = windows.map((window, w) => new WindowUse(window, w));
  }

  /** Adds a start whose request is not written yet. */
  add(pending: Start): void {
    this.#pending.add(pending);
  }

  /** @param writtenAt when its request was written; `undefined` if it never will be */
  settle(pending: Start, writtenAt: number | undefined): void {
    this.#pending.delete(pending);
    if (writtenAt === undefined) return;
    const start = { at: writtenAt, costs: pending.costs };
    this.#written.push(start);
    for (const window of this.#windows) window.add(start);
  }

  /** The cost of all starts in each window. */
  used(now: number): number[] {
    this.#forget(now);
    return this.#windows.map((window) => window.used + window.costOf(this.#pending, now));
  }

  /** When a request of these costs may start, at `now` or later. */
  earliest(costs: readonly number[], now: number): number {
    this.#forget(now);
    return Math.max(now, ...this.#windows.map((window) => window.earliest(this.#written, this.#pending, costs, now)));
  }

  #forget(now: number): void {
    for (const window of this.#windows) window.forget(this.#written, now);
    const left = Math.min(this.#written.length, ...this.#windows.map(({ first }) => first));
    if (left < mostKept) return;
    this.#written = this.#written.slice(left);
    for (const window of this.#windows) window.first -= left;
  }
}

/** The written starts that are in a window at the moment, and what they cost. */
class WindowUse {
  readonly #window: StartWindow;
  /** Its place in the costs. */
  readonly #w: number;
  /** The index of the oldest one. */
  first = 0;
  used = 0;

  constructor(window: StartWindow, w: number) {
    this.#window = window;
    this.#w = w;
  }

  add(start: Start): void {
    this.used += this.#cost(start);
  }

  forget(written: readonly Start[], now: number): void {
    for (let start = written[this.first]; start && !this.#has(start, now); start = written[this.first]) {
      this.used -= this.#cost(start);
      this.first += 1;
    }
    // Fractions may leave a rest.
    if (this.first === written.length) this.used = 0;
  }

  costOf(starts: Iterable<Start>, now: number): number {
    let sum = 0;
    for (const start of starts) if (this.#has(start, now)) sum += this.#cost(start);
    return sum;
  }

  /** When the oldest have left that there is no room beside. A pending one is given up later than any was written. */
  earliest(written: readonly Start[], pending: Iterable<Start>, costs: readonly number[], now: number): number {
    const { max, span } = this.#window;
    let excess = this.used + this.costOf(pending, now) + (costs[this.#w] ?? 1) - max;
    for (let i = this.first; i < written.length && excess > 0; i += 1) {
      const start = written[i];
      if (!start) break;
      excess -= this.#cost(start);
      if (excess <= 0) return start.at + span;
    }
    if (excess <= 0) return now;
    for (const start of pending) {
      if (this.#has(start, now)) excess -= this.#cost(start);
      if (excess <= 0) return start.at + span;
    }
    return now;
  }

  #has({ at }: Start, now: number): boolean {
    return at + this.#window.span > now;
  }

  #cost({ costs }: Start): number {
    return costs[this.#w] ?? 1;
  }
}
