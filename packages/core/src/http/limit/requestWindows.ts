import type { RateWindow } from './limit.js';

export type StartWindow = Pick<RateWindow, 'max' | 'span' | 'per'>;

/** One start, by the monotonic clock. */
export interface Start {
  /** When it was written; before that, the latest time until which it is waited for. */
  readonly at: number;
  /** Its cost in each window, in the order of the windows. */
  readonly costs: readonly number[];
}

/**
 * The starts so far. It counts actual starts, not planned ones, so a stalled process neither bursts afterwards nor loses
 * its share. Its times are monotonic. To ask it costs the same however many starts a window has.
 */
export class RequestWindows {
  readonly #windows: readonly RequestWindow[];
  /** Of requests that are not written yet, in the order in which they are given up. There are few, each with a permit. */
  readonly #pending = new Set<Start>();

  constructor(windows: readonly StartWindow[]) {
    this.#windows = windows.map((window, w) => new RequestWindow(window, w));
  }

  /** Adds a start whose request is not written yet. */
  add(pending: Start): void {
    this.#pending.add(pending);
  }

  /**
   * @param writtenAt when its request was written; `undefined` if it never will be
   *
   * @returns the start that counts now
   */
  settle(pending: Start, writtenAt: number | undefined): Start | undefined {
    this.#pending.delete(pending);
    if (writtenAt === undefined) return undefined;
    const start = { at: writtenAt, costs: pending.costs };
    for (const window of this.#windows) window.add(start);
    return start;
  }

  /** Counts a written start `ms` later, or earlier: in windows of rates, which servers count, unless it has left them. */
  shift(start: Start, ms: number): void {
    const shifted = { at: start.at + ms, costs: start.costs };
    for (const window of this.#windows) if (window.isRate && window.remove(start)) window.add(shifted);
  }

  /** The cost of all starts in each window. */
  used(now: number): number[] {
    return this.#windows.map((window) => window.used(this.#pending, now));
  }

  /** When a request of these costs may start, at `now` or later. */
  earliest(costs: readonly number[], now: number): number {
    return Math.max(now, ...this.#windows.map((window) => window.earliest(this.#pending, costs, now)));
  }
}

/** How many starts that have left a window are kept, before they are removed together. */
const mostKept = 1_000;

/** The written starts that are in a window, oldest first, and what they cost. */
class RequestWindow {
  readonly #window: StartWindow;
  /** Its place in the costs. */
  readonly #w: number;
  #starts: Start[] = [];
  /** The index of the oldest one that has not left. */
  #first = 0;
  #used = 0;

  constructor(window: StartWindow, w: number) {
    this.#window = window;
    this.#w = w;
  }

  add(start: Start): void {
    let at = this.#starts.length;
    while (at > this.#first && (this.#starts[at - 1]?.at ?? 0) > start.at) at -= 1;
    this.#starts.splice(at, 0, start);
    this.#used += this.#cost(start);
  }

  get isRate(): boolean {
    return this.#window.per !== undefined;
  }

  /** Whether it was there. */
  remove(start: Start): boolean {
    const at = this.#starts.lastIndexOf(start);
    if (at < this.#first) return false;
    this.#starts.splice(at, 1);
    this.#used -= this.#cost(start);
    return true;
  }

  used(pending: Iterable<Start>, now: number): number {
    this.#forget(now);
    return this.#used + this.#costOf(pending, now);
  }

  /** When the oldest have left that there is no room beside. A pending one is given up later than any was written. */
  earliest(pending: Iterable<Start>, costs: readonly number[], now: number): number {
    const { max, span } = this.#window;
    let excess = this.used(pending, now) + (costs[this.#w] ?? 1) - max;
    for (let i = this.#first; i < this.#starts.length && excess > 0; i += 1) {
      const start = this.#starts[i];
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

  #forget(now: number): void {
    for (let start = this.#starts[this.#first]; start && !this.#has(start, now); start = this.#starts[this.#first]) {
      this.#used -= this.#cost(start);
      this.#first += 1;
    }
    // Fractions may leave a rest.
    if (this.#first === this.#starts.length) this.#used = 0;
    if (this.#first < mostKept) return;
    this.#starts = this.#starts.slice(this.#first);
    this.#first = 0;
  }

  #costOf(starts: Iterable<Start>, now: number): number {
    let sum = 0;
    for (const start of starts) if (this.#has(start, now)) sum += this.#cost(start);
    return sum;
  }

  #has({ at }: Start, now: number): boolean {
    return at + this.#window.span > now;
  }

  #cost({ costs }: Start): number {
    return costs[this.#w] ?? 1;
  }
}
