import { CheckpointError } from '../../../errors.js';
import type { Increment, PageIncrement, Since } from '../../source/increment.js';
import type { ListingMark, ListingProgress, RowAtValue } from './incrementProgress.js';
import type { IncrementalOptions } from '../exportOptions.js';
import type { StateStore } from '../../sink/stateStore.js';

/** A source whose increments leave a mark. */
export interface MarkedSource extends IncrementalOptions {
  /** It has both ends, so it begins where no mark counts, and leaves none. */
  readonly isBackfill: boolean;
  readonly name: string;
  readonly rule: Increment;
  readonly state: StateStore;
  /** Other parameters have another one. */
  readonly markName: string;
}

/** A commit with more rows would take long. After a kill they come again with the next increment. */
const maxCommitted = 1_000;

/** Where the increment of one listing begins. */
interface ListingStart {
  readonly mark: ListingMark | undefined;
  /** Given instead of the mark. */
  readonly from: string | undefined;
  /** It ends before this value, and its mark moves no further. */
  readonly before?: string | undefined;
  /** The value that its walk reaches without any row. */
  readonly until?: string | undefined;
}

/** The increment of one listing: where it begins, what it has seen, and the mark that it leaves. */
export class ListingIncrement {
  readonly #rule: Increment;
  readonly #mark: ListingMark | undefined;
  readonly #known: ReadonlySet<string>;
  readonly #before: string | undefined;
  readonly #until: string | undefined;
  #progress: ListingProgress;
  /** Exported rows that the next increment may get again. */
  #recent: RowAtValue[];
  #settled: string | undefined;

  /** Begins a walk at the mark that the last one left, or where `from` says, or continues one. */
  constructor(
    rule: Increment,
    { mark, from: given, before, until }: ListingStart,
    resumed: ListingProgress | undefined,
  ) {
    this.#rule = rule;
    this.#mark = mark;
    this.#before = before;
    this.#until = until;
    const from = given ?? mark?.value;
    const isBeyond = given !== undefined && mark !== undefined && rule.compare(given, mark.value) > 0;
    const { recent = [], ...progress } = resumed ?? { ...(from !== undefined && { from }), moves: !isBeyond };
    this.#progress = progress;
    this.#recent = [...recent];
    // With another beginning, the rows are wanted again.
    const isAtMark = mark !== undefined && progress.from === mark.value;
    this.#known = new Set(isAtMark ? mark.known.map(([row]) => row) : []);
  }

  get since(): Since {
    const { from } = this.#progress;
    const isAt = ([row, at]: RowAtValue): boolean =>
      this.#known.has(row) && from !== undefined && this.#rule.compare(at, from) === 0;
    const knownAt = this.#mark?.known.some(isAt) ? from : undefined;
    return { from, before: this.#before, isKnown: (row) => this.#known.has(row), knownAt };
  }

  /** Rows are missing, so the mark stays; or it moves to the window in which they are. */
  stay(window?: string): void {
    const { held = window } = this.#progress;
    const isEarlier = held !== undefined && window !== undefined && this.#rule.compare(window, held) < 0;
    this.#progress =
      window === undefined
        ? { ...this.#progress, moves: false }
        : { ...this.#progress, held: isEarlier ? window : held };
  }

  add({ at, rows, latest: latestOfPage }: PageIncrement): void {
    const began = Math.min(this.#progress.began ?? at, at);
    const latest = this.#laterOf(this.#progress.latest, latestOfPage);
    this.#progress = { ...this.#progress, began, ...(latest !== undefined && { latest }) };
    // The mark will not be before this, so rows before it are not requested again.
    const settled = this.#settledNow;
    if (settled !== this.#settled) this.#recent = this.#from(settled, this.#recent);
    this.#settled = settled;
    // With windows, it may be the same for the whole walk.
    for (const row of this.#from(settled, rows)) this.#recent.push(row);
  }

  /** For a commit that has so many exported rows in all: with those of this listing, unless they are too many. */
  committed(rows: number): ListingProgress {
    return rows > maxCommitted ? this.#progress : { ...this.#progress, recent: [...this.#recent] };
  }

  /** For the commit that seals. */
  get progress(): ListingProgress {
    return this.#progress;
  }

  /** Exported rows that a resumed run has to know. */
  get recent(): readonly RowAtValue[] {
    return this.#recent;
  }

  /** The mark that a complete walk leaves; `undefined` if it stays. */
  get next(): ListingMark | undefined {
    const value = this.#laterOf(this.#mark?.value, this.#progress.held ?? this.#reached);
    if (value === undefined || !this.#progress.moves) return undefined;
    const known = new Map([...(this.#mark?.known ?? []), ...this.#recent]);
    return { value, known: this.#from(value, [...known]) };
  }

  /** What the mark would be now. */
  get #reached(): string | undefined {
    const { began } = this.#progress;
    const latest = this.#laterOf(this.#progress.latest, this.#until);
    if (latest === undefined || began === undefined) return undefined;
    return this.#earlierOf(this.#rule.mark(latest, began), this.#before);
  }

  get #settledNow(): string | undefined {
    const reached = this.#reached;
    return reached && this.#earlierOf(reached, this.#progress.held);
  }

  #from(value: string | undefined, rows: readonly RowAtValue[]): RowAtValue[] {
    return rows.filter(([, at]) => value === undefined || this.#rule.compare(at, value) >= 0);
  }

  #earlierOf(a: string, b: string | undefined): string {
    return b !== undefined && this.#rule.compare(b, a) < 0 ? b : a;
  }

  #laterOf(a: string | undefined, b: string | undefined): string | undefined {
    if (a === undefined || b === undefined) return a ?? b;
    return this.#rule.compare(a, b) < 0 ? b : a;
  }
}

export function unreadableMarkError(): CheckpointError {
  return new CheckpointError("The mark of the last incremental export can't be read.", {}, [
    { kind: 'set', option: 'full' },
  ]);
}
