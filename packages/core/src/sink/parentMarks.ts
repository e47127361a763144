import { CheckpointError, SluiceError } from '../errors.js';
import type { StateLog } from '../stateLog.js';
import { isList, isRecord } from '../values.js';
import { isListingMark, type ListingMark, type ParentsMark } from './incrementProgress.js';

/** A parent's key and its mark; `null` if it has none yet. */
export type MarkedParent = readonly [parent: string, mark: ListingMark | null];

/** What the checkpoint of a run says about its records in the log. */
interface OwnRecords {
  readonly run: string;
  readonly records: number;
}

/**
 * The marks of the parents of a listing, in a log. Each record names its run, and a run adds the parents whose listings
 * ended before it commits that. Only the records of one run count: that of the source's mark, which is saved once the
 * target is published. So a commit adds to the log what is new, and never rewrites it.
 *
 * After a crash the log may be ahead of the checkpoint. The next run walks those parents again, and adds them again: the
 * last record of a parent counts.
 */
export class ParentMarks {
  readonly #log: StateLog;
  readonly #marks = new Map<string, ListingMark>();
  /** Records of the run that adds to the log. */
  #added = 0;

  constructor(log: StateLog) {
    this.#log = log;
  }

  /**
   * Loads the marks of a finished run, for a run that begins, or continues with `own` records in the log.
   *
   * @throws CheckpointError if the log can't be read, or lacks records of either run: it lost its end, or is an older
   * copy. Rows of the parents in them would be exported again.
   */
  async load(
    mark: ParentsMark | undefined,
    { own, isFull }: { readonly own: OwnRecords | undefined; readonly isFull: boolean },
  ): Promise<void> {
    const isNew = own === undefined;
    const kept: object[] = [];
    let isStale = false;
    try {
      for await (const record of this.#log.read()) {
        if (!isMarks(record)) throw unreadableMark();
        const isMarked = record.run === mark?.run;
        const isOwn = record.run === own?.run;
        if (isMarked) this.#take(record.parents);
        if (isMarked) kept.push(record);
        if (isOwn) this.#added += 1;
        if (!isMarked && !isOwn) isStale = true;
      }
      if (kept.length < (mark?.records ?? 0)) throw lostEnd('full');
      if (this.#added < (own?.records ?? 0)) throw lostEnd('restart');
    } catch (error) {
      if (!isFull || !isNew || !SluiceError.is(error, 'checkpoint')) throw error;
      this.#marks.clear();
      kept.length = 0;
      isStale = true;
    }
    // A run that continues has records of its own.
    if (isNew && isStale) await this.#log.replace(kept);
  }

  get(parent: string): ListingMark | undefined {
    return this.#marks.get(parent);
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

  #take(parents: readonly MarkedParent[]): void {
    for (const [parent, mark] of parents) {
      if (mark) this.#marks.set(parent, mark);
      else this.#marks.delete(parent);
    }
  }
}

export function unreadableMark(): CheckpointError {
  return new CheckpointError("The mark of the last incremental export can't be read.", {}, [
    { kind: 'set', option: 'full' },
  ]);
}

function lostEnd(way: 'full' | 'restart'): CheckpointError {
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
      typeof parent[0] === 'string' &&
      (parent[1] === null || isListingMark(parent[1])),
  );
}
