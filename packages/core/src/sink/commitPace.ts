import type { Clock } from '../clock.js';

/** How often an export commits. */
export interface CommitPaceOptions {
  /** Pages between two commits, and nothing else. Default: as {@link CommitPace} says. */
  readonly commitEvery: number | undefined;
  readonly clock: Clock;
}

/** Most pages between two commits, where nobody says how many. */
const mostPages = 200;

/** Ms after a commit from which the next page is committed with, where nobody says how many pages. */
const longestWait = 1_000;

/**
 * Says when a commit is due: after a number of pages, or as soon as a page asks for one.
 *
 * Where nobody gives a number, it is a second's worth of pages, 200 at most. A commit takes a few ms of the disk, so it costs less than a
 * hundredth of the time where an API sets the pace, and a few hundredths where nothing but the machine does; and a crash takes a
 * second's work back, whether an API gives a page a minute or forty a second.
 */
export class CommitPace {
  readonly #every: number;
  readonly #within: number;
  readonly #clock: Clock;
  #pages = 0;
  #since: number;
  #isAsked = false;

  constructor({ commitEvery, clock }: CommitPaceOptions) {
    this.#every = commitEvery ?? mostPages;
    this.#within = commitEvery === undefined ? longestWait : Infinity;
    this.#clock = clock;
    this.#since = clock.monotonic();
  }

  /** A page was written. One that asks is committed as soon as the sink allows it, which may be a few pages later. */
  add({ commit = false }: { readonly commit?: boolean }): void {
    this.#pages += 1;
    this.#isAsked ||= commit;
  }

  /** All that was written is committed, or taken back. */
  settle(): void {
    this.#pages = 0;
    this.#isAsked = false;
    this.#since = this.#clock.monotonic();
  }

  /** Whether pages were written that no commit speaks of yet. */
  get isBehind(): boolean {
    return this.#pages > 0;
  }

  /** Whether what was written is to be committed now. */
  get isDue(): boolean {
    if (this.#isAsked || this.#pages >= this.#every) return true;
    return this.isBehind && this.#clock.monotonic() - this.#since >= this.#within;
  }
}
