import { CheckpointError } from '../errors.js';
import { isPosition, withoutPartition, type Position } from '../position.js';
import { isCount, isRecord } from '../values.js';
import type { Json } from '../source/definition.js';

/** The durable record "all rows up to this position are in the sink, up to this place". */
export interface Checkpoint {
  readonly v: 1;
  /** The run that began the export, for people who compare logs. */
  readonly runId: string;
  /** The run started over, whatever was there: a source that remembers begins anew as well, with the name of this run. */
  readonly isRestart?: true;
  /** What is exported, for people: the source's name, and the parts of its plan. */
  readonly source: string;
  readonly partitions: number;
  /** A hash of the target's path. Files may be moved, so it counts only as long as there is no place to tell them by. */
  readonly target?: string;
  /** Of the source and the sink together, as a whole and by setting; a checkpoint of another plan is refused. */
  readonly planHash: string;
  readonly settings: Readonly<Record<string, string>>;
  /** Of the key that the rows were asked for with; absent where the source uses none. */
  readonly key?: { readonly salt: string; readonly fingerprint: string };
  readonly position: Position;
  /** Rows and pages in the sink; an operator on pages may have made fewer or more rows than the walk gave out. */
  readonly rows: number;
  readonly pages: number;
  /** Those of each partition that was begun and is not finished. */
  readonly begun: Readonly<Record<string, { readonly rows: number; readonly pages: number }>>;
  /** Where the sink goes on; absent until it was opened for the first time. */
  readonly sinkPosition?: Json;
  /** Everything is written; only the last step, putting the target in place, may be missing. */
  readonly isSealed?: true;
  /** The target is in place since then (ISO 8601). The record stays, so that the same export knows its own target when it is run again. */
  readonly finishedAt?: string;
}

/**
 * The checkpoint that would be there if one unfinished partition had not been begun. `place` is that of the sink without that partition.
 *
 * @example checkpointWithoutPartition(checkpoint, 3, sink.withoutPart(checkpoint.place, 3))
 */
export function checkpointWithoutPartition(checkpoint: Checkpoint, partition: number, sinkPosition: Json): Checkpoint {
  const { [partition]: gone = { rows: 0, pages: 0 }, ...begun } = checkpoint.begun;
  return {
    ...checkpoint,
    ...{ begun, sinkPosition, position: withoutPartition(checkpoint.position, partition) },
    ...{ rows: checkpoint.rows - gone.rows, pages: checkpoint.pages - gone.pages },
  };
}

/**
 * Reads a checkpoint that a store gave back. Whether it fits what is to be exported is another question.
 *
 * @throws CheckpointError if it is none, or newer than we are.
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

function isCheckpoint(record: unknown): record is Checkpoint {
  return (
    isRecord(record) &&
    record['v'] === 1 &&
    [record['runId'], record['source'], record['planHash']].every((text) => typeof text === 'string') &&
    [record['partitions'], record['rows'], record['pages']].every(isCount) &&
    [record['target'], record['finishedAt']].every((text) => text === undefined || typeof text === 'string') &&
    isTexts(record['settings']) &&
    isRecord(record['begun']) &&
    Object.values(record['begun']).every((each) => isRecord(each) && isCount(each['rows']) && isCount(each['pages'])) &&
    (record['key'] === undefined || isTexts(record['key'])) &&
    isPosition(record['position'])
  );
}

function isTexts(value: unknown): boolean {
  return isRecord(value) && Object.values(value).every((text) => typeof text === 'string');
}
