import { ConfigError } from '../../../errors.js';
import { hashOf } from '../../source/fingerprint.js';
import type { Since } from '../../source/increment.js';
import type { Page } from '../../source/page.js';
import type { SourceInfo } from '../../source/sourceInfo.js';
import type { Checkpoint } from '../checkpoint.js';
import type { IncrementalOptions } from '../exportOptions.js';
import { type IncrementProgress, isMark, type ListingMark, type Mark } from './incrementProgress.js';
import { ListingIncrement, type MarkedSource, maxCommitted, unreadableMarkError } from './listingIncrement.js';
import { ParentIncrements } from './parentIncrements.js';
import type { StateStore } from '../../sink/stateStore.js';

/** The increment of one export: where it begins, what it has seen, and the mark that it leaves. */
export interface Increments {
  readonly source: Pick<MarkedSource, 'markName'>;
  /**
   * Loads the mark, for a new export or one that continues. `undefined` if there is none or all rows are wanted anyway.
   *
   * @throws CheckpointError if it can't be read.
   */
  load(resumed: Pick<Checkpoint, 'runId' | 'increment'> | undefined): Promise<Mark | undefined>;
  /** Begins a walk, or continues that of a checkpoint. */
  begin(resumed: IncrementProgress | undefined): void;
  readonly since: Since;
  add(page: Page<unknown>): void;
  /** Makes durable what the next commit relies on. */
  prepare?(runId: string): Promise<void>;
  /** For a commit. */
  readonly progress: IncrementProgress;
  /** For the commit that seals: with the next mark, unless rows would be missed. */
  sealed(checkpoint: Pick<Checkpoint, 'runId' | 'key'>): IncrementProgress;
  close?(): Promise<void>;
}

/** @throws ConfigError if the source has no increments, or an option is invalid. */
export function createIncrements(info: SourceInfo<never>, state: StateStore, options: IncrementalOptions): Increments {
  const { name, increment, isEndless, maxRows, partitions, rowsIdentity, identity } = info;
  if (!increment || isEndless)
    throw new ConfigError(
      `${name} can't be exported incrementally: ${isEndless ? 'it never ends' : 'its paging is not bySince'}.`,
    );
  if (maxRows !== undefined)
    throw new ConfigError('An incremental export takes no maxRows: what is beyond it would be missed for good.');
  if (partitions > 1 && partitions !== Infinity && increment.isBounded !== true)
    throw new ConfigError(
      `${name} can't be exported incrementally: its ${partitions} partitions would share a mark, and rows of one would be missed where another is further. Export each partition by itself, or make it a listing for each row of another one.`,
    );
  const { full = false } = options;
  if (full && options.from !== undefined) throw new ConfigError('from and full exclude each other.');
  const from = options.from === undefined ? undefined : increment.read(options.from);
  if (options.from !== undefined && from === undefined)
    throw new ConfigError(`from is ${JSON.stringify(options.from.slice(0, 100))}: it must be ${increment.wanted}.`);
  const markName = `mark-${hashOf([name, rowsIdentity ?? identity])}`;
  const source = { name, rule: increment, state, markName, from, full };
  return partitions === Infinity ? new ParentIncrements(source) : new SourceIncrement(source);
}

/** Of a source that has one mark. */
class SourceIncrement implements Increments {
  readonly source: MarkedSource;
  #mark: ListingMark | undefined;
  #listing: ListingIncrement;

  constructor(source: MarkedSource) {
    this.source = source;
    this.#listing = this.#begun(undefined);
  }

  async load(): Promise<Mark | undefined> {
    const { state, markName, full, rule } = this.source;
    const record = full ? undefined : await state.load(markName);
    if (record === undefined) return undefined;
    if (!isMark(record) || rule.read(record.value) === undefined) throw unreadableMarkError();
    this.#mark = record;
    return record;
  }

  begin(resumed: IncrementProgress | undefined): void {
    this.#listing = this.#begun(resumed);
  }

  get since(): Since {
    return this.#listing.since;
  }

  add({ increment, isIncomplete }: Page<unknown>): void {
    if (isIncomplete) this.#listing.stay();
    if (increment) this.#listing.add(increment);
  }

  get progress(): IncrementProgress {
    const { progress, recent } = this.#listing;
    return recent.length > maxCommitted ? progress : { ...progress, recent: [...recent] };
  }

  sealed({ key }: Pick<Checkpoint, 'key'>): IncrementProgress {
    const { progress, next } = this.#listing;
    return { ...progress, ...(next && { next: { v: 1, source: this.source.name, ...next, ...(key && { key }) } }) };
  }

  #begun(resumed: IncrementProgress | undefined): ListingIncrement {
    const { rule, from } = this.source;
    return new ListingIncrement(rule, { mark: this.#mark, from }, resumed);
  }
}
