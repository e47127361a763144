import type { Clock } from '../../clock.js';

/** Default: at most this many pages between two commits. */
const maxPages = 200;

/** Default: ms between two commits. */
const usualWait = 1_000;

/** The next commit waits for this multiple of the last one's duration, so commits take under 5 % of the time. */
const restsPerCommit = 20;

/** Ms. A commit that outlasted an outage of the target says nothing of what the next one takes. */
const longestWait = 20_000;

/**
 * Decides when a commit is due: after `commitEvery` pages, or when a page requests one.
 *
 * Default: one second after the last commit, and after 200 pages at the latest. A commit takes a few ms: under 1 % of
 * the time if the API sets the pace, a few percent if only the machine does. A crash loses about a second of work, at
 * any rate of pages.
 */
export class CommitPace {
  readonly #every: number;
  readonly #isTimed: boolean;
  readonly #clock: Clock;
  #pages = 0;
  #isAsked = false;
  #since: number;
  #wait = usualWait;

  constructor(commitEvery: number | undefined, clock: Clock) {
    this.#every = commitEvery ?? maxPages;
    this.#isTimed = commitEvery === undefined;
    this.#clock = clock;
    this.#since = clock.monotonic();
  }

  /** Counts a written page. One with `commit` is committed as soon as the sink allows it, maybe some pages later. */
  add({ commit = false }: { readonly commit?: boolean }): void {
    this.#pages += 1;
    this.#isAsked ||= commit;
  }

  /** All written pages are committed or removed. */
  settle(): void {
    this.#pages = 0;
    this.#isAsked = false;
  }

  /** Restarts the wait for the next commit. `took`: duration of the last one in ms. */
  restart(took = 0): void {
    this.#since = this.#clock.monotonic();
    this.#wait = Math.min(Math.max(usualWait, restsPerCommit * took), longestWait);
  }

  /** Whether pages were written since the last commit. */
  get isBehind(): boolean {
    return this.#pages > 0;
  }

  get isDue(): boolean {
    return this.#isAsked || this.#pages >= this.#every || this.left <= 0;
  }

  /** Ms until a commit is due if no other page comes: `Infinity` if only a page can make one due. */
  get left(): number {
    if (!this.#isTimed || !this.isBehind) return Infinity;
    return this.#since + this.#wait - this.#clock.monotonic();
  }
}
