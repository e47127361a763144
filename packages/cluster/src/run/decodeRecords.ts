import { hash } from 'node:crypto';
import { ConfigError, type Position } from '@sluice/core';
import { isCount, isRecord } from '@sluice/core/kit';
import type { PlanPiece, RunHeader } from './run.js';

/** The version of all records of a folder. */
const formatVersion = 1;

/** `run.json`. */
export interface RunRecord extends RunHeader {
  /** Whoever submitted the run trusts its file system, though it is a network's. */
  readonly trustFileSystem: boolean;
}

/** A file of the plan. */
export interface PlanChunk {
  /** The partitions before its own. */
  readonly first: number;
  readonly pieces: readonly PlanPiece[];
}

/** `plan/complete`. */
export interface CompletePlan {
  /** The SHA-256 of all chunks, in order. */
  readonly hash: string;
  readonly partitions: number;
}

/** Rows of a partition: the first bytes of the file that a claim wrote. They never change. */
export interface Segment {
  readonly claim: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly rows: number;
  /** Its pages: this many rows, in this many pages after each other. */
  readonly pages: readonly (readonly [rows: number, pages: number])[];
}

/** The partition that a record is of. Under the name of another one, or in the folder of another run, it says nothing. */
export interface RecordOwner {
  /** The run's id. */
  readonly run: string;
  /** The plan's hash. */
  readonly plan: string;
  readonly partition: number;
}

/** How far a partition is, as a hint says, and as its record in `done` says for good. */
export interface PartitionRecord extends RecordOwner {
  readonly claim: string;
  readonly segments: readonly Segment[];
  /** Absent if the partition starts over. */
  readonly position?: Position;
  readonly rows: number;
  readonly restarts: number;
  /** The API said that rows are missing. */
  readonly isIncomplete: boolean;
}

/**
 * A record with a checksum of all that it says. Whoever reads it knows that this version wrote it so, and that it is
 * complete, and need not check each field.
 */
export function sealRecord(record: object): object {
  const content = { format: formatVersion, ...record };
  return { ...content, sum: hash('sha256', JSON.stringify(content)) };
}

/** `undefined` if it is not a record of this partition. A hint may come from anywhere. */
export function decodePartition(value: unknown, owner: RecordOwner): PartitionRecord | undefined {
  if (!isSealed(value)) return undefined;
  if (value['run'] !== owner.run || value['plan'] !== owner.plan || value['partition'] !== owner.partition)
    return undefined;
  const { claim, segments, rows, restarts, isIncomplete, position } = value;
  const isWhole =
    isId(claim) &&
    Array.isArray(segments) &&
    segments.every(isSegment) &&
    isCount(rows) &&
    isCount(restarts) &&
    typeof isIncomplete === 'boolean' &&
    (position === undefined || isRecord(position));
  return isWhole ? (value as unknown as PartitionRecord) : undefined;
}

/** Whether its pages have its rows. */
function isSegment(value: unknown): boolean {
  if (!isRecord(value) || !isId(value['claim']) || typeof value['sha256'] !== 'string') return false;
  const { bytes, rows, pages } = value;
  if (!isCount(bytes) || !isCount(rows) || !Array.isArray(pages)) return false;
  const sizes = pages.map((run: unknown) => (Array.isArray(run) && run.every(isCount) ? run : []));
  return sizes.reduce((sum, [size = NaN, times = NaN]) => sum + size * times, 0) === rows;
}

/** Ids become parts of paths. */
function isId(value: unknown): boolean {
  return typeof value === 'string' && /^[0-9a-f]{32}$/.test(value);
}

/** The parameters of a piece, whose type only its source's author knows. */
export function decodeParams(params: unknown): never {
  return params as never;
}

/** A record that was sealed. @throws ConfigError if it is damaged, or of another version */
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- its name says what it is, and its checksum that this version wrote it
export function decodeRecord<Sealed>(value: unknown, path: string): Sealed {
  if (isSealed(value)) return value as Sealed;
  const format = isRecord(value) ? value['format'] : undefined;
  throw new ConfigError(
    typeof format === 'number' && format !== formatVersion
      ? `${path} has format ${format}, and this version of Sluice knows ${formatVersion}. Use the same version on all machines.`
      : `${path} is damaged: it is not what Sluice wrote. Restore it, or submit to another target.`,
    { path },
  );
}

function isSealed(value: unknown): value is Record<string, unknown> {
  if (!isRecord(value) || value['format'] !== formatVersion) return false;
  const { sum, ...content } = value;
  return hash('sha256', JSON.stringify(content)) === sum;
}
