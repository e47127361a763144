import { packNumbers, unpackNumbers, type Json } from '../../json.js';
import { isList, isRecord } from '../../values.js';
import { isPosition, type Position } from '../../position.js';

/**
 * A parent: the path of its keys, and the parameters of its listing. Without parameters, it stands for rows that are
 * missing below the path: a listing of parents that was skipped, or is incomplete.
 */
export type Parent<Params> = readonly [path: readonly string[], params: Params | null, part?: ParentPart];

/** A part of a parent's listing: a partition of it, or its windows. */
export interface ParentPart {
  /** The values of the partition, if the parent has several partitions. */
  readonly values?: object | undefined;
  /** Where its windows begin. */
  readonly from?: string | undefined;
}

/** A page of parents, as the log stores it. The first record also names the export, and says when it began. */
export interface ParentPage<Params> {
  readonly parents: readonly Parent<Params>[];
  /** Where the walk of the parents continues. */
  readonly next: Position;
  readonly runId?: string | undefined;
  /** Wall time in ms, which determines the windows. */
  readonly began?: number | undefined;
}

/** Encodes parents for the log as JSON that preserves exact numbers. */
export function encodeParents<Params>(parents: readonly Parent<Params>[]): Json {
  return packNumbers(parents as readonly unknown[] as readonly Json[]);
}

/** Decodes a record of the log; `undefined` if invalid. The same version of the listing has made the parameters. */
export function decodeParents<Params>(record: unknown): ParentPage<Params> | undefined {
  if (!isRecord(record)) return undefined;
  const { parents, next, runId, began } = record;
  if (!isList(parents) || !parents.every(isParent) || !isPosition(next)) return undefined;
  if (runId !== undefined && typeof runId !== 'string') return undefined;
  if (began !== undefined && typeof began !== 'number') return undefined;
  return { parents: unpackNumbers(parents) as readonly Parent<Params>[], next, runId, began };
}

/** Types parameters that have become JSON. */
export function decodeParentList<Params>(
  parents: readonly (readonly [readonly string[], unknown, unknown?])[],
): readonly Parent<Params>[] {
  return parents as readonly Parent<Params>[];
}

function isParent(value: unknown): boolean {
  if (!isList(value) || value.length < 2 || value.length > 3) return false;
  const [path, params, part = {}] = value;
  if (!isRecord(part)) return false;
  const { values = {}, from = '' } = part;
  if (!isRecord(values) || typeof from !== 'string') return false;
  return isList(path) && path.every((key) => typeof key === 'string') && (params === null || isRecord(params));
}
