import { CheckpointError, ConfigError } from '../errors.js';
import { hashOf } from '../source/fingerprint.js';
import type { Increment, Since } from '../source/increment.js';
import type { Page } from '../source/page.js';
import type { SourceInfo } from '../source/source.js';
import { type IncrementProgress, isMark, type Mark, type RowAtValue } from './incrementProgress.js';
import type { Checkpoint } from './checkpoint.js';
import type { StateStore } from './stateStore.js';

/** How an export finds what is new. */
export interface IncrementalOptions {
  /** Begins here instead of at the mark. If it is beyond the mark, the mark stays: rows between would be missed. */
  readonly from?: string;
  /** Exports all rows, and sets the mark. */
  readonly full?: boolean;
}

/** A commit with more rows would take long. After a kill they come again with the next increment. */
const maxCommitted = 1_000;

/** The increment of one export: where it begins, what it has seen, and the mark that it leaves. */
export class Increments<T> {
  readonly #info: SourceInfo<T>;
  readonly #rule: Increment;
  readonly #options: IncrementalOptions;
  readonly #name: string;
  #mark: Mark | undefined;
  #known: ReadonlySet<string> = new Set();
  #progress: IncrementProgress = { moves: true };
  /** Exported rows that the next increment may get again. */
  #recent: RowAtValue[] = [];
  #settled: string | undefined;

  /** @throws ConfigError if the source has no increments, or an option is invalid. */
  constructor(info: SourceInfo<T>, options: IncrementalOptions) {
    const { name, increment, identity, rowsIdentity, maxRows, isEndless } = info;
    if (!increment || isEndless)
      throw new ConfigError(
        `${name} can't be exported incrementally: ${isEndless ? 'it never ends' : 'its paging is not bySince'}.`,
      );
    if (maxRows !== undefined)
      throw new ConfigError('An incremental export takes no maxRows: what is beyond it would be missed for good.');
    const { from, full = false } = options;
    if (full && from !== undefined) throw new ConfigError('from and full exclude each other.');
    if (from !== undefined && increment.read(from) === undefined)
      throw new ConfigError(`from is ${JSON.stringify(from.slice(0, 100))}: it must be ${increment.wanted}.`);
    this.#info = info;
    this.#rule = increment;
    this.#options = options;
    this.#name = `mark-${hashOf([name, rowsIdentity ?? identity])}`;
  }

  /** Loads the mark, unless all rows are wanted anyway. @throws CheckpointError if it can't be read. */
  async load(state: StateStore): Promise<Mark | undefined> {
    if (this.#options.full) return undefined;
    const record = await state.load(this.#name);
    if (record !== undefined && !isMark(record))
      throw new CheckpointError("The mark of the last incremental export can't be read.", {}, [
        { kind: 'set', option: 'full' },
      ]);
    this.#mark = record;
    return record;
  }

  /** Begins a walk, or continues that of a checkpoint. */
  begin(resumed: IncrementProgress | undefined): void {
    const { from: given } = this.#options;
    const mark = this.#mark;
    const from = given ?? mark?.value;
    const isBeyond = given !== undefined && mark !== undefined && this.#rule.compare(given, mark.value) > 0;
    const { recent = [], ...progress } = resumed ?? { ...(from !== undefined && { from }), moves: !isBeyond };
    this.#progress = progress;
    this.#recent = [...recent];
    // With another beginning, the rows are wanted again.
    const isAtMark = mark !== undefined && this.#progress.from === mark.value;
    this.#known = new Set(isAtMark ? mark.known.map(([row]) => row) : []);
  }

  get since(): Since {
    const { from } = this.#progress;
    return { ...(from !== undefined && { from }), isKnown: (row) => this.#known.has(row) };
  }

  add({ increment, isIncomplete }: Page<T>): void {
    if (isIncomplete) this.#progress = { ...this.#progress, moves: false };
    if (!increment) return;
    const { at, rows } = increment;
    const began = Math.min(this.#progress.began ?? at, at);
    const latest = this.#laterOf(this.#progress.latest, increment.latest);
    this.#progress = { ...this.#progress, began, ...(latest !== undefined && { latest }) };
    // The mark will not be before this, so rows before it are not requested again.
    const settled = this.#reached;
    const isFurther = settled !== this.#settled;
    this.#settled = settled;
    for (const row of rows) this.#recent.push(row);
    if (isFurther) this.#recent = this.#from(settled, this.#recent);
  }

  /** For a commit. */
  get progress(): IncrementProgress {
    return this.#recent.length > maxCommitted ? this.#progress : { ...this.#progress, recent: [...this.#recent] };
  }

  /** For the commit that seals: with the next mark, unless rows would be missed. */
  sealed(key: Checkpoint['key']): IncrementProgress {
    const earlier = this.#mark;
    const value = this.#laterOf(earlier?.value, this.#reached);
    if (value === undefined || !this.#progress.moves) return this.#progress;
    const known = new Map([...(earlier?.known ?? []), ...this.#recent]);
    const { name } = this.#info;
    const rows = this.#from(value, [...known]);
    const next: Mark = { v: 1, source: name, value, known: rows, ...(key && { key }) };
    return { ...this.#progress, next };
  }

  /** Saves the mark of a checkpoint whose target is published. */
  async save(state: StateStore, { next }: IncrementProgress): Promise<void> {
    if (next) await state.save(this.#name, next);
  }

  /** What the mark would be now. */
  get #reached(): string | undefined {
    const { latest, began } = this.#progress;
    return latest === undefined || began === undefined ? undefined : this.#rule.mark(latest, began);
  }

  #from(value: string | undefined, rows: readonly RowAtValue[]): RowAtValue[] {
    return rows.filter(([, at]) => value === undefined || this.#rule.compare(at, value) >= 0);
  }

  #laterOf(a: string | undefined, b: string | undefined): string | undefined {
    if (a === undefined || b === undefined) return a ?? b;
    return this.#rule.compare(a, b) < 0 ? b : a;
  }
}
