import { CheckpointError } from '../../errors.js';
import { isDone, isPosition, withoutPartition, type Position } from '../../position.js';
import { isCount, isRecord } from '../../values.js';
import type { Json } from '../source/definition.js';
import type { Page } from '../source/page.js';
import { type IncrementProgress, isIncrementProgress } from './increments/incrementProgress.js';

/** For people, by what it is, e.g. `columns` or `command`. */
export type MadeWith = Readonly<Record<string, string>>;

/** The durable record "all rows up to this position are in the sink, up to this sink position". */
export interface Checkpoint {
  readonly v: 1;
  /** Id of the run that began the export, for comparing logs. */
  readonly runId: string;
  /** The run started over. A source with state of its own then starts over too, under this run's id. */
  readonly isRestart?: true;
  /** For people: the source's name and the number of partitions; absent if the walk discovers them. */
  readonly source: string;
  readonly partitions?: number;
  /** A hash of the target's path. Files may be moved, so it is compared only while there is no `sinkPosition`. */
  readonly target?: string;
  /** Hashes of source and sink: of all settings, and of each. A checkpoint with another plan is refused. */
  readonly planHash: string;
  /** What the source has chosen for the concurrency of the run that began, so that all runs have the same plan. */
  readonly fitted?: Json;
  readonly settings: Readonly<Record<string, string>>;
  /** What people should know of how it was made; nothing is compared with it. */
  readonly madeWith?: MadeWith;
  /** Of the API key; absent if the source uses none. */
  readonly key?: { readonly salt: string; readonly fingerprint: string };
  readonly position: Position;
  /** In the sink. An operator on pages may have changed the number of rows that the walk emitted. */
  readonly rows: number;
  readonly pages: number;
  /** Counts of each unfinished partition. */
  readonly begun: Readonly<Record<string, { readonly rows: number; readonly pages: number }>>;
  /** How often an unfinished partition started over because rows had moved, by partition. */
  readonly moved?: Readonly<Record<string, number>>;
  /** Where the sink resumes; absent before its first commit, and while a target without rows is removed. */
  readonly sinkPosition?: Json;
  /** Rows may be missing: the API refused a part of the listing for good, or reported errors beside its rows. */
  readonly isIncomplete?: true;
  /** All rows are written; only publishing the target may be missing. */
  readonly isSealed?: true;
  /** How far an incremental export has walked; absent for others. */
  readonly increment?: IncrementProgress;
  /** The scope of its rows' ids: that of its mark, where it has one. Default: the run's. */
  readonly scope?: string;
  /** When the run began whose rows it has (ISO 8601). */
  readonly beganAt?: string;
  /** Ms between a last commit and the run that resumed after it, in all. */
  readonly pausedFor?: number;
  /** When it was saved (ISO 8601); absent until then. */
  readonly savedAt?: string;
  /** When the target was published (ISO 8601). The record stays, so that a repeated export recognizes its target. */
  readonly finishedAt?: string;
}

/** What the sink was given, of all partitions and of each unfinished one. */
export type WrittenCounts = Pick<Checkpoint, 'rows' | 'pages' | 'begun' | 'isIncomplete'>;

/** The counts after another page. */
export function countPage({ rows, pages, begun, isIncomplete }: WrittenCounts, page: Page<unknown>): WrittenCounts {
  const { [page.partition]: before = { rows: 0, pages: 0 }, ...others } = begun;
  const counts = { rows: before.rows + page.items.length, pages: before.pages + 1 };
  return {
    rows: rows + page.items.length,
    pages: pages + 1,
    begun: page.endsPartition ? others : { ...others, [page.partition]: counts },
    ...((isIncomplete ?? page.isIncomplete) && { isIncomplete: true }),
  };
}

/** The checkpoint as if one unfinished partition had not begun. `sinkPosition` is without that partition, too. */
export function removePartition(checkpoint: Checkpoint, partition: number, sinkPosition: Json): Checkpoint {
  const { [partition]: gone = { rows: 0, pages: 0 }, ...begun } = checkpoint.begun;
  return {
    ...checkpoint,
    begun,
    sinkPosition,
    position: withoutPartition(checkpoint.position, partition),
    rows: checkpoint.rows - gone.rows,
    pages: checkpoint.pages - gone.pages,
  };
}

/**
 * Decodes a checkpoint from a store. Whether it matches the export is checked elsewhere.
 *
 * @throws CheckpointError if it is not a checkpoint, or was written by a newer version.
 */
export function decodeCheckpoint(record: unknown): Checkpoint {
  if (isCheckpoint(record)) return record;
  const isNewer = isRecord(record) && typeof record['v'] === 'number' && record['v'] > 1;
  throw new CheckpointError(
    isNewer
      ? 'The checkpoint was written by a newer version of Sluice, which can resume from it.'
      : "The checkpoint can't be read.",
    {},
    [{ kind: 'restart' }],
  );
}

/** Whether an untrusted value is a checkpoint of this version. */
export function isCheckpoint(record: unknown): record is Checkpoint {
  return (
    isRecord(record) &&
    record['v'] === 1 &&
    [record['runId'], record['source'], record['planHash']].every((text) => typeof text === 'string') &&
    [record['rows'], record['pages']].every(isCount) &&
    (record['partitions'] === undefined || isCount(record['partitions'])) &&
    [record['target'], record['scope'], record['beganAt'], record['savedAt'], record['finishedAt']].every(
      (text) => text === undefined || typeof text === 'string',
    ) &&
    ['undefined', 'number'].includes(typeof record['pausedFor']) &&
    isTexts(record['settings']) &&
    (record['madeWith'] === undefined || isTexts(record['madeWith'])) &&
    (record['moved'] === undefined || (isRecord(record['moved']) && Object.values(record['moved']).every(isCount))) &&
    isRecord(record['begun']) &&
    Object.values(record['begun']).every((each) => isRecord(each) && isCount(each['rows']) && isCount(each['pages'])) &&
    (record['key'] === undefined || isTexts(record['key'])) &&
    (record['increment'] === undefined || isIncrementProgress(record['increment'])) &&
    isPosition(record['position'])
  );
}

/** The checkpoint with another start of a partition whose rows had moved. Finished ones are not counted any more. */
export function countMove(checkpoint: Checkpoint, partition: number): Checkpoint {
  const { moved = {}, position } = checkpoint;
  const unfinished = Object.entries(moved).filter(([each]) => !isDone(position, Number(each)));
  return { ...checkpoint, moved: { ...Object.fromEntries(unfinished), [partition]: (moved[partition] ?? 0) + 1 } };
}

function isTexts(value: unknown): boolean {
  return isRecord(value) && Object.values(value).every((text) => typeof text === 'string');
}
