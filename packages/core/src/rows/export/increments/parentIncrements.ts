import { CheckpointError, SluiceError } from '../../../errors.js';
import type { Increment, PageIncrement, Since, WalkedWindow } from '../../source/increment.js';
import type { Page } from '../../source/page.js';
import type { StateLog } from '../../../stateLog.js';
import { isList, isRecord } from '../../../values.js';
import type { Checkpoint } from '../checkpoint.js';
import {
  type IncrementProgress,
  isListingMark,
  isParentsMark,
  type ListingMark,
  type ListingProgress,
  type Mark,
  type ParentsMark,
} from './incrementProgress.js';
import { ListingIncrement, type MarkedSource, unreadableMarkError } from './listingIncrement.js';

/** The increment of a source that has a listing for each parent, and a mark for each. Its windows share the mark. */
export class ParentIncrements {
  readonly #source: MarkedSource;
  #marks: ParentMarks | undefined;
  /** What holds for all parents. */
  #start: Pick<IncrementProgress, 'from' | 'isFull'> = {};
  /** Unfinished listings of a checkpoint that the walk has not continued yet, by their last partition. */
  #resumed = new Map<number, ListingProgress>();
  /** Listings that the walk has begun or continued, by their last partition. */
  readonly #open = new Map<number, { readonly parent: readonly string[]; readonly listing: ListingIncrement }>();
  /** Their unfinished windows, by partition. */
  readonly #windows = new Map<number, WalkedWindow>();
  /** Parents whose listings ended since the last commit. */
  #ended: MarkedParent[] = [];

  constructor(source: MarkedSource) {
    this.#source = source;
  }

  /**
   * Loads the marks, for a new export or one that continues. `undefined` if there are none or all rows are wanted anyway.
   * A backfill reads and adds none.
   *
   * @throws CheckpointError if they can't be read.
   */
  async load(resumed: Pick<Checkpoint, 'runId' | 'increment'> | undefined): Promise<Mark | undefined> {
    const { state, markName, full: isFull = false, isBackfill, rule } = this.#source;
    const record = await state.load(markName).catch((error: unknown) => {
      if (isFull) return undefined;
      throw error;
    });
    const mark = isParentsMark(record) ? record : undefined;
    if (record !== undefined && !mark && !isFull) throw unreadableMarkError();
    if (isBackfill) return mark;
    this.#marks = new ParentMarks(state.log(markName), rule);
    const own = resumed && { run: resumed.runId, records: resumed.increment?.records ?? 0 };
    await this.#marks.load(mark, { own, isFull });
    return isFull ? undefined : mark;
  }

  begin(resumed: IncrementProgress | undefined): void {
    const { from, full = false } = this.#source;
    this.#start = resumed ?? { ...(from !== undefined && { from }), ...(full && { isFull: true }) };
    this.#resumed = new Map(Object.entries(resumed?.parents ?? {}).map(([partition, at]) => [Number(partition), at]));
    this.#open.clear();
    this.#windows.clear();
    this.#ended = [];
  }

  get since(): Since {
    const { from } = this.#start;
    return {
      from,
      before: this.#source.until,
      ofParent: (parent, partition, window) => this.#opened(parent, partition, window).since,
      beginOf: (parent) => from ?? this.#markOf(parent)?.value,
    };
  }

  add({ isIncomplete, partition, endsPartition }: Page<unknown>, increment: PageIncrement | undefined): void {
    const window = this.#windows.get(partition);
    const last = window?.last ?? partition;
    const open = this.#open.get(last);
    if (!open) throw new Error(`The walk has not begun the partition ${partition}.`);
    const { parent, listing } = open;
    if (isIncomplete) listing.stay(window?.from);
    if (increment) listing.add(increment);
    if (!endsPartition) return;
    this.#windows.delete(partition);
    if (partition !== last) return;
    this.#open.delete(last);
    this.#ended.push([parent, listing.next ?? this.#marks?.get(parent) ?? null]);
    this.#marks?.walked(parent);
    // Rows above may be missing, and with them parents that have a mark.
    if (isIncomplete) this.#ended.push(...(this.#marks?.below(parent) ?? []));
  }

  /** For a commit, which may rely on the marks of the parents whose listings have ended. */
  async record({ runId, key }: Pick<Checkpoint, 'runId' | 'key'>, isSealed: boolean): Promise<IncrementProgress> {
    if (this.#ended.length > 0) await this.#marks?.add(runId, this.#ended);
    this.#ended = [];
    const records = this.#marks?.records ?? 0;
    const { from, isFull } = this.#start;
    const open = [...this.#open];
    const rows = open.reduce((sum, [, { listing }]) => sum + listing.recent.length, 0);
    const begun = open.map(([partition, { listing }]) => [partition, listing.committed(rows)] as const);
    return {
      ...(from !== undefined && { from }),
      moves: true,
      ...(isFull && { isFull }),
      parents: Object.fromEntries([...this.#resumed, ...begun]),
      records,
      ...(isSealed && { next: { v: 2, source: this.#source.name, run: runId, records, ...(key && { key }) } }),
    };
  }

  async close(): Promise<void> {
    await this.#marks?.close();
  }

  #opened(parent: readonly string[], partition: number, window: WalkedWindow | undefined): ListingIncrement {
    const last = window?.last ?? partition;
    if (window) this.#windows.set(partition, window);
    const open = window && this.#open.get(last);
    if (open) return open.listing;
    const { until: before } = this.#source;
    const start = { mark: this.#markOf(parent), from: this.#start.from, before, until: window?.until };
    const listing = new ListingIncrement(this.#source.rule, start, this.#resumed.get(last));
    this.#resumed.delete(last);
    this.#open.set(last, { parent, listing });
    return listing;
  }

  /** Where the walk of a parent begins, unless that is given. */
  #markOf(parent: readonly string[]): ListingMark | undefined {
    return this.#start.isFull ? undefined : this.#marks?.get(parent);
  }
}

/** The path of a parent's keys, and its mark; `null` if it has none yet. */
type MarkedParent = readonly [parent: readonly string[], mark: ListingMark | null];

/**
 * The marks of the parents of a listing, in a log. Each record names its run, and a run adds the parents whose listings
 * ended before it commits that. Only the records of one run count: that of the source's mark, which is saved once the
 * target is published. So a commit adds to the log what is new, and never rewrites it.
 *
 * After a crash the log may be ahead of the checkpoint. The next run walks those parents again, and adds them again: the
 * last record of a parent counts.
 */
class ParentMarks {
  readonly #log: StateLog;
  readonly #rule: Increment;
  /** By the path of the parent's keys, as JSON. */
  readonly #marks = new Map<string, { readonly parent: readonly string[]; readonly mark: ListingMark }>();
  /** The parents whose listings this run has walked, by the same. */
  readonly #walked = new Set<string>();
  /** Records of the run that adds to the log. */
  #added = 0;

  constructor(log: StateLog, rule: Increment) {
    this.#log = log;
    this.#rule = rule;
  }

  /**
   * Loads the marks of a finished run, for a run that begins, or continues with `own` records in the log.
   *
   * @throws CheckpointError if the log can't be read, or lacks records of either run: it lost its end, or is an older
   * copy. Rows of the parents in them would be exported again.
   */
  async load(
    mark: (Mark & ParentsMark) | undefined,
    { own, isFull }: { readonly own: ParentsMark | undefined; readonly isFull: boolean },
  ): Promise<void> {
    const isNew = own === undefined;
    const kept: object[] = [];
    let isStale = false;
    try {
      for await (const record of this.#log.read()) {
        if (!isMarks(record)) throw unreadableMarkError();
        const isMarked = record.run === mark?.run;
        const isOwn = record.run === own?.run;
        if (isMarked) this.#take(record.parents, mark.v === 1);
        if (isMarked) kept.push(record);
        if (isOwn) this.#added += 1;
        if (isOwn) for (const [parent] of record.parents) this.walked(parent);
        if (!isMarked && !isOwn) isStale = true;
      }
      if (kept.length < (mark?.records ?? 0)) throw lostEndError('full');
      if (this.#added < (own?.records ?? 0)) throw lostEndError('restart');
    } catch (error) {
      if (!isFull || !isNew || !SluiceError.is(error, 'checkpoint')) throw error;
      this.#marks.clear();
      kept.length = 0;
      isStale = true;
    }
    // A run that continues has records of its own.
    if (isNew && isStale) await this.#log.replace(kept);
  }

  get(parent: readonly string[]): ListingMark | undefined {
    return this.#marks.get(JSON.stringify(parent))?.mark;
  }

  /** The listing of a parent has ended: its mark is that of this run. */
  walked(parent: readonly string[]): void {
    this.#walked.add(JSON.stringify(parent));
  }

  /** The marks of all parents below a row that this run has not walked. */
  below(row: readonly string[]): readonly MarkedParent[] {
    const marked = [...this.#marks].filter(
      ([text, { parent }]) =>
        parent.length > row.length && !this.#walked.has(text) && row.every((key, level) => parent[level] === key),
    );
    return marked.map(([, { parent, mark }]) => [parent, mark]);
  }

  /** Resolves when the marks are durable. They count once the source's mark names the run. */
  async add(run: string, parents: readonly MarkedParent[]): Promise<void> {
    await this.#log.append({ run, parents });
    this.#added += 1;
  }

  /** Records of the run that adds to the log, for its checkpoint and its mark. */
  get records(): number {
    return this.#added;
  }

  close(): Promise<void> {
    return this.#log.close();
  }

  #take(parents: readonly MarkedParent[], isOld: boolean): void {
    for (const [parent, saved] of parents) {
      // Values have another type since it was saved.
      if (saved && this.#rule.read(saved.value) === undefined) throw unreadableMarkError();
      const mark = isOld && saved ? { ...saved, value: this.#rule.mend?.(saved.value) ?? saved.value } : saved;
      if (mark) this.#marks.set(JSON.stringify(parent), { parent, mark });
      else this.#marks.delete(JSON.stringify(parent));
    }
  }
}

function lostEndError(way: 'full' | 'restart'): CheckpointError {
  return new CheckpointError(
    'The log with the marks of the parents lacks records that the last export wrote, so rows would be exported again. Restore it, or start over.',
    {},
    [way === 'full' ? { kind: 'set', option: 'full' } : { kind: 'restart' }],
  );
}

function isMarks(record: unknown): record is { readonly run: string; readonly parents: readonly MarkedParent[] } {
  if (!isRecord(record) || typeof record['run'] !== 'string' || !isList(record['parents'])) return false;
  return record['parents'].every(
    (parent) =>
      isList(parent) &&
      parent.length === 2 &&
      isList(parent[0]) &&
      parent[0].every((key) => typeof key === 'string') &&
      (parent[1] === null || isListingMark(parent[1])),
  );
}
