import { CheckpointError } from '@sluice/core';
import { isCount } from '@sluice/core/kit';
import type { LettersPosition } from './letters/deadLetters.js';
import type { Outgoing } from './outgoing.js';

/** Pages that became durable together. Plain JSON. */
export interface SpoolRecord {
  /** Of this form. */
  readonly v: 2;
  readonly sinkPosition: WebhookPosition;
  /** The numbers after its first record that is not settled of those that are. */
  readonly ahead?: readonly number[];
  readonly pages: readonly SpooledPage[];
  /** Ids of records that were removed from the spool. */
  readonly recent?: readonly string[];
  /** The number after the last of them. Absent: all of them were committed. */
  readonly before?: number;
  /** The numbers of the first and the last segment that the spool has from here on. */
  readonly segments?: readonly [number, number];
}

/** Reads a record of the spool, whose log has checksums. @throws CheckpointError if it has another version. */
export function decodeSpoolRecord(record: unknown): SpoolRecord {
  const { v } = record as { readonly v: unknown };
  if (v !== 2)
    throw new CheckpointError('The spool was written by another version of Sluice, which can resume from it.', {}, [
      { kind: 'restart' },
    ]);
  const spooled = record as SpoolRecord;
  return { ...spooled, sinkPosition: decodeWebhookPosition(spooled.sinkPosition) };
}

/** Reads the position in a checkpoint. @throws CheckpointError if it is not a webhook's. */
export function decodeWebhookPosition(sinkPosition: unknown): WebhookPosition {
  const found = (sinkPosition ?? {}) as Partial<WebhookPosition> & { readonly next?: number };
  // Versions that committed what was delivered had one number. They must not read what has two: they would lose records.
  const { settled = found.next, end = settled, dead, letters } = found;
  if (isCount(settled) && isCount(end) && isCount(dead) && letters !== undefined)
    return { settled, end, dead, letters };
  throw new CheckpointError('The checkpoint does not say how far the forward got.', {}, [{ kind: 'restart' }]);
}

/** A page in the spool. */
export interface SpooledPage {
  readonly at: string;
  /** The number of the first record; the others follow without gaps. */
  readonly first: number;
  readonly records: readonly Outgoing[];
}

/** The number after the last record of a page. */
export function endOf({ first, records }: SpooledPage): number {
  return first + records.length;
}

/** The progress of a forward, as stored in checkpoints and in the spool. Plain JSON. */
export interface WebhookPosition {
  /** All records before this number are settled: accepted, or dead letters. */
  readonly settled: number;
  /** The number after the last record of the committed rows. Those that are not settled are in the spool. */
  readonly end: number;
  /** Number of dead letters of this export. */
  readonly dead: number;
  /** Position in the dead letters; `null` if no run of the export had any place for them. */
  readonly letters: LettersPosition | null;
}
