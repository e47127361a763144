import type { Clock } from '../clock.js';

interface CommitPaceOptions {
  /** Pages between two commits, and nothing else. Default: as {@link CommitPace} says. */
  readonly commitEvery: number | undefined;
  readonly clock: Clock;
}

/** Most pages between two commits, where nobody says how many. */
const maxPages = 200;

/** Ms from one commit to the next, where nobody says how many pages lie between them. */
const usualWait = 1_000;

/** A commit that takes long is followed by so many times its length without one: on whatever disk, it takes less than a twentieth of the time. */
const restsPerCommit = 20;

/**
 * Says when a commit is due: after a number of pages, or as soon as a page asks for one.
 *
 * Where nobody gives a number, it is a second after the last commit, and after 200 pages at the latest. A commit takes a few ms of a disk, so it
 * costs less than a hundredth of the time where an API sets the pace, and a few hundredths where nothing but the machine does; and a crash takes
 * a second's work back, whether an API gives a page a minute or forty a second.
 */
export class CommitPace {
  readonly #every: number;
  readonly #isTimed: boolean;
  readonly #clock: Clock;
  #pages = 0;
  #isAsked = false;
  #since: number;
  #wait = usualWait;

  constructor({ commitEvery, clock }: CommitPaceOptions) {
    this.#every = commitEvery ?? maxPages;
    this.#isTimed = commitEvery === undefined;
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
  }

  /** The time until the next commit begins now. `took`: ms that the last one took. */
  restart(took = 0): void {
    this.#since = this.#clock.monotonic();
    this.#wait = Math.max(usualWait, restsPerCommit * took);
  }

  /** Whether pages were written that no commit speaks of yet. */
  get isBehind(): boolean {
    return this.#pages > 0;
  }

  get isDue(): boolean {
    return this.#isAsked || this.#pages >= this.#every || this.left <= 0;
  }

  /** Ms until what was written is to be committed, should no other page come: `Infinity` where only a page can bring that about. */
  get left(): number {
    if (!this.#isTimed || !this.isBehind) return Infinity;
    return this.#since + this.#wait - this.#clock.monotonic();
  }
}
