import { ConfigError } from '../errors.js';
import { hashOf } from '../source/fingerprint.js';
import type { Increment, Since } from '../source/increment.js';
import type { Page } from '../source/page.js';
import type { SourceInfo } from '../source/source.js';
import {
  type IncrementProgress,
  isMark,
  isParentsMark,
  type ListingMark,
  type ListingProgress,
  type Mark,
} from './incrementProgress.js';
import type { Checkpoint } from './checkpoint.js';
import { ListingIncrement } from './listingIncrement.js';
import { type MarkedParent, ParentMarks, unreadableMark } from './parentMarks.js';
import type { StateStore } from './stateStore.js';

/** How an export finds what is new. */
export interface IncrementalOptions {
  /**
   * Begins here instead of at the mark. If it is beyond the mark, the mark stays: rows between would be missed. A
   * listing for each parent has a mark for each.
   */
  readonly from?: string;
  /** Exports all rows, and sets the mark. */
  readonly full?: boolean;
}

/** A commit with more rows would take long. After a kill they come again with the next increment. */
const maxCommitted = 1_000;

/** The increment of one export: where it begins, what it has seen, and the mark that it leaves. */
export interface Increments {
  /**
   * Loads the mark, for a new export or one that continues. `undefined` if there is none or all rows are wanted anyway.
   *
   * @throws CheckpointError if it can't be read.
   */
  load(state: StateStore, resumed: Pick<Checkpoint, 'runId' | 'increment'> | undefined): Promise<Mark | undefined>;
  /** Begins a walk, or continues that of a checkpoint. */
  begin(resumed: IncrementProgress | undefined): void;
  readonly since: Since;
  add(page: Page<unknown>): void;
  /** Makes durable what the next commit relies on. */
  prepare(runId: string): Promise<void>;
  /** For a commit. */
  readonly progress: IncrementProgress;
  /** For the commit that seals: with the next mark, unless rows would be missed. */
  sealed(checkpoint: Pick<Checkpoint, 'runId' | 'key'>): IncrementProgress;
  /** Saves the mark of a checkpoint whose target is published. */
  save(state: StateStore, progress: IncrementProgress): Promise<void>;
  close(): Promise<void>;
}

/** @throws ConfigError if the source has no increments, or an option is invalid. */
export function incrementsOf(info: SourceInfo<never>, options: IncrementalOptions): Increments {
  const { name, increment, isEndless, maxRows, partitions } = info;
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
  const { from, full = false } = options;
  if (full && from !== undefined) throw new ConfigError('from and full exclude each other.');
  if (from !== undefined && increment.read(from) === undefined)
    throw new ConfigError(`from is ${JSON.stringify(from.slice(0, 100))}: it must be ${increment.wanted}.`);
  return partitions === Infinity
    ? new ParentIncrements(info, increment, options)
    : new SourceIncrement(info, increment, options);
}

/** The name of a source's mark: other parameters have another one. */
function markName({ name, rowsIdentity, identity }: SourceInfo<never>): string {
  return `mark-${hashOf([name, rowsIdentity ?? identity])}`;
}

/** Of a source that has one mark. */
class SourceIncrement implements Increments {
  readonly #rule: Increment;
  readonly #options: IncrementalOptions;
  readonly #source: string;
  readonly #name: string;
  #mark: ListingMark | undefined;
  #listing: ListingIncrement;

  constructor(info: SourceInfo<never>, rule: Increment, options: IncrementalOptions) {
    this.#rule = rule;
    this.#options = options;
    this.#source = info.name;
    this.#name = markName(info);
    this.#listing = this.#begun(undefined);
  }

  async load(state: StateStore): Promise<Mark | undefined> {
    if (this.#options.full) return undefined;
    const record = await state.load(this.#name);
    if (record === undefined) return undefined;
    if (!isMark(record)) throw unreadableMark();
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

  prepare(): Promise<void> {
    return Promise.resolve();
  }

  get progress(): IncrementProgress {
    const { progress, recent } = this.#listing;
    return recent.length > maxCommitted ? progress : { ...progress, recent: [...recent] };
  }

  sealed({ key }: Pick<Checkpoint, 'key'>): IncrementProgress {
    const { progress, next } = this.#listing;
    return { ...progress, ...(next && { next: { v: 1, source: this.#source, ...next, ...(key && { key }) } }) };
  }

  async save(state: StateStore, { next }: IncrementProgress): Promise<void> {
    if (next) await state.save(this.#name, next);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #begun(resumed: IncrementProgress | undefined): ListingIncrement {
    return new ListingIncrement(this.#rule, { mark: this.#mark, from: this.#options.from }, resumed);
  }
}

/** Of a source that has a listing for each parent, and a mark for each. */
class ParentIncrements implements Increments {
  readonly #rule: Increment;
  readonly #options: IncrementalOptions;
  readonly #source: string;
  readonly #name: string;
  #marks: ParentMarks | undefined;
  /** What holds for all parents. */
  #start: Pick<IncrementProgress, 'from' | 'isFull'> = {};
  /** Unfinished listings of a checkpoint that the walk has not continued yet, by partition. */
  #resumed = new Map<number, ListingProgress>();
  /** Listings that the walk has begun or continued, by partition. */
  readonly #open = new Map<number, { readonly parent: string; readonly listing: ListingIncrement }>();
  /** Parents whose listings ended since the last commit. */
  #ended: MarkedParent[] = [];

  constructor(info: SourceInfo<never>, rule: Increment, options: IncrementalOptions) {
    this.#rule = rule;
    this.#options = options;
    this.#source = info.name;
    this.#name = markName(info);
  }

  async load(
    state: StateStore,
    resumed: Pick<Checkpoint, 'runId' | 'increment'> | undefined,
  ): Promise<Mark | undefined> {
    const { full: isFull = false } = this.#options;
    const record = await state.load(this.#name).catch((error: unknown) => {
      if (isFull) return undefined;
      throw error;
    });
    const mark = isParentsMark(record) ? record : undefined;
    if (record !== undefined && !mark && !isFull) throw unreadableMark();
    this.#marks = new ParentMarks(state.log(this.#name));
    const own = resumed && { run: resumed.runId, records: resumed.increment?.records ?? 0 };
    await this.#marks.load(mark, { own, isFull });
    return isFull ? undefined : mark;
  }

  begin(resumed: IncrementProgress | undefined): void {
    const { from, full = false } = this.#options;
    this.#start = resumed ?? { ...(from !== undefined && { from }), ...(full && { isFull: true }) };
    this.#resumed = new Map(Object.entries(resumed?.parents ?? {}).map(([partition, at]) => [Number(partition), at]));
    this.#open.clear();
    this.#ended = [];
  }

  get since(): Since {
    const { from } = this.#start;
    return {
      ...(from !== undefined && { from }),
      ofParent: (parent, partition) => this.#opened(parent, partition).since,
    };
  }

  add({ increment, isIncomplete, partition, endsPartition }: Page<unknown>): void {
    const open = this.#open.get(partition);
    if (!open) throw new Error(`The walk has not begun the partition ${partition}.`);
    const { parent, listing } = open;
    if (isIncomplete) listing.stay();
    if (increment) listing.add(increment);
    if (!endsPartition) return;
    this.#open.delete(partition);
    this.#ended.push([parent, listing.next ?? this.#marks?.get(parent) ?? null]);
  }

  async prepare(runId: string): Promise<void> {
    if (this.#ended.length === 0) return;
    await this.#marks?.add(runId, this.#ended);
    this.#ended = [];
  }

  get progress(): IncrementProgress {
    const { from, isFull } = this.#start;
    const open = [...this.#open].map(([partition, { listing }]) => ({ partition, listing }));
    const isLong = open.reduce((sum, { listing }) => sum + listing.recent.length, 0) > maxCommitted;
    const parents = [
      ...this.#resumed,
      ...open.map(({ partition, listing: { progress, recent } }): [number, ListingProgress] => [
        partition,
        isLong ? progress : { ...progress, recent: [...recent] },
      ]),
    ];
    return {
      ...(from !== undefined && { from }),
      moves: true,
      ...(isFull && { isFull }),
      parents: Object.fromEntries(parents),
      ...(this.#marks && { records: this.#marks.records }),
    };
  }

  sealed({ runId, key }: Pick<Checkpoint, 'runId' | 'key'>): IncrementProgress {
    const { records = 0, ...progress } = this.progress;
    const next = { v: 1, source: this.#source, run: runId, records, ...(key && { key }) } as const;
    return { ...progress, records, next };
  }

  async save(state: StateStore, { next }: IncrementProgress): Promise<void> {
    if (next) await state.save(this.#name, next);
  }

  async close(): Promise<void> {
    await this.#marks?.close();
  }

  #opened(parent: string, partition: number): ListingIncrement {
    const { from, isFull } = this.#start;
    const start = { mark: isFull ? undefined : this.#marks?.get(parent), from };
    const listing = new ListingIncrement(this.#rule, start, this.#resumed.get(partition));
    this.#resumed.delete(partition);
    this.#open.set(partition, { parent, listing });
    return listing;
  }
}
