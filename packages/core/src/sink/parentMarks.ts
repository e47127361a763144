import { CheckpointError, SluiceError } from '../errors.js';
import type { StateLog } from '../stateLog.js';
import { isList, isRecord } from '../values.js';
import { isListingMark, type ListingMark } from './incrementProgress.js';

/** A parent's key and its mark; `null` if it has none yet. */
export type MarkedParent = readonly [parent: string, mark: ListingMark | null];

/** Of a compacted log, so that a database gets few of them. */
const parentsPerRecord = 100;

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

  constructor(log: StateLog) {
    this.#log = log;
  }

  /** Loads the marks of a run. @throws CheckpointError if the log can't be read. */
  async load(run: string | undefined, { isNew, isFull }: { isNew: boolean; isFull: boolean }): Promise<void> {
    let isStale = false;
    try {
      for await (const record of this.#log.read()) {
        if (!isMarks(record)) throw unreadableMark();
        if (record.run === run) this.#take(record.parents);
        else isStale = true;
      }
    } catch (error) {
      if (!isFull || !isNew || !SluiceError.is(error, 'checkpoint')) throw error;
      this.#marks.clear();
      isStale = true;
    }
    // A run that continues has records of its own.
    if (isNew && isStale) await this.#log.replace(run === undefined ? [] : recordsOf(run, [...this.#marks]));
  }

  get(parent: string): ListingMark | undefined {
    return this.#marks.get(parent);
  }

  /** Resolves when the marks are durable. They count once the source's mark names the run. */
  add(run: string, parents: readonly MarkedParent[]): Promise<void> {
    return this.#log.append({ run, parents });
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

function* recordsOf(run: string, parents: readonly MarkedParent[]): Generator<object, void, undefined> {
  for (let at = 0; at < parents.length; at += parentsPerRecord)
    yield { run, parents: parents.slice(at, at + parentsPerRecord) };
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
