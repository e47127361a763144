import { ConfigError, type Position } from '@sluice/core';
import { isRecord } from './rowLine.js';
import type { PlanPiece, RunHeader } from './run.js';

/** The version of all records of a folder. */
export const formatVersion = 1;

/** `run.json`. */
export interface RunRecord extends RunHeader {
  readonly format: number;
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
  /** Some of its rows have values that JSON lacks. */
  readonly isTagged: boolean;
}

/** How far a partition is, as a hint says, and as its record in `done` says for good. */
export interface PartitionRecord {
  /** The plan's hash. */
  readonly plan: string;
  readonly claim: string;
  readonly segments: readonly Segment[];
  /** Absent if the partition starts over. */
  readonly position?: Position;
  readonly rows: number;
  readonly restarts: number;
  /** The API said that rows are missing. */
  readonly isIncomplete: boolean;
}

/** @throws ConfigError if it is damaged, or of another version. */
export function decodeRun(value: unknown, path: string): RunRecord {
  if (isRecord(value) && isCount(value['format']) && value['format'] !== formatVersion)
    throw new ConfigError(
      `${path} has format ${value['format']}, and this version of Sluice knows ${formatVersion}: use the same version on all machines.`,
      { path },
    );
  const isRun =
    isRecord(value) &&
    isId(value['id']) &&
    isText(value['name']) &&
    isText(value['source']) &&
    (value['columns'] === null || isListOf(value['columns'], isText)) &&
    isRecord(value['types']) &&
    typeof value['trustFileSystem'] === 'boolean';
  if (!isRun) throw damaged(path);
  return value as unknown as RunRecord;
}

/** @throws ConfigError if it is damaged. */
export function decodeChunk(value: unknown, path: string): PlanChunk {
  const isPiece = (piece: unknown): boolean =>
    isRecord(piece) && isCount(piece['partitions']) && isText(piece['identity']) && piece['params'] !== undefined;
  if (!isRecord(value) || !isCount(value['first']) || !isListOf(value['pieces'], isPiece)) throw damaged(path);
  return value as unknown as PlanChunk;
}

/** @throws ConfigError if it is damaged. */
export function decodeComplete(value: unknown, path: string): CompletePlan {
  if (!isRecord(value) || !isHash(value['hash']) || !isCount(value['partitions'])) throw damaged(path);
  return value as unknown as CompletePlan;
}

/** `undefined` if it is not a record of a partition of this plan. It may come from anywhere. */
export function decodePartition(value: unknown, plan: string): PartitionRecord | undefined {
  const isRight =
    isRecord(value) &&
    value['plan'] === plan &&
    isId(value['claim']) &&
    isListOf(value['segments'], isSegment) &&
    (value['position'] === undefined || isRecord(value['position'])) &&
    isCount(value['rows']) &&
    isCount(value['restarts']) &&
    typeof value['isIncomplete'] === 'boolean';
  return isRight ? (value as unknown as PartitionRecord) : undefined;
}

/** The parameters of a piece, whose type only its source's author knows. */
export function decodeParams(params: unknown): never {
  return params as never;
}

function isSegment(value: unknown): boolean {
  if (!isRecord(value) || !isId(value['claim']) || !isHash(value['sha256'])) return false;
  const isRun = (run: unknown): boolean => Array.isArray(run) && run.length === 2 && run.every(isCount);
  return (
    isCount(value['bytes']) &&
    isCount(value['rows']) &&
    isListOf(value['pages'], isRun) &&
    typeof value['isTagged'] === 'boolean'
  );
}

function damaged(path: string): ConfigError {
  return new ConfigError(`${path} is damaged: it is not what Sluice wrote. Restore it, or submit to another folder.`, {
    path,
  });
}

function isListOf(value: unknown, isItem: (item: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(isItem);
}

/** A claim's id is part of a path, so it must be nothing but hex digits. */
function isId(value: unknown): value is string {
  return typeof value === 'string' && /^[0-9a-f]{32}$/.test(value);
}

function isHash(value: unknown): boolean {
  return typeof value === 'string' && /^[0-9a-f]{64}$/.test(value);
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}
