import { CheckpointError } from '@sluice/core';
import type { LettersPosition } from './deadLetterFile.js';
import type { Outgoing } from './outgoing.js';

/** Pages that became durable together. Plain JSON. */
export interface SpoolRecord {
  /** Of this form. */
  readonly v: 2;
  readonly sinkPosition: WebhookPosition;
  readonly pages: readonly SpooledPage[];
  /** Ids of records that were removed from the log. */
  readonly recent?: readonly string[];
}

/** Reads a record of the spool, whose log has checksums. @throws CheckpointError if it has another version. */
export function decodeSpoolRecord(record: unknown): SpoolRecord {
  const { v } = record as { readonly v: unknown };
  if (v === 2) return record as SpoolRecord;
  throw new CheckpointError('The spool was written by another version of Sluice, which can resume from it.', {}, [
    { kind: 'restart' },
  ]);
}

/** Reads the position in a checkpoint. @throws CheckpointError if it is not a webhook's. */
export function decodeWebhookPosition(sinkPosition: unknown): WebhookPosition {
  const { next, dead, letters } = (sinkPosition ?? {}) as Partial<WebhookPosition>;
  if (Number.isSafeInteger(next) && Number.isSafeInteger(dead) && letters !== undefined)
    return sinkPosition as WebhookPosition;
  throw new CheckpointError('The checkpoint does not say how far the forward got.', {}, [{ kind: 'restart' }]);
}

/** A page in the spool. */
export interface SpooledPage {
  readonly at: string;
  /** The number of the first record; the others follow without gaps. */
  readonly first: number;
  readonly records: readonly Outgoing[];
}

/** The progress of deliveries, as stored in checkpoints and in the spool. Plain JSON. */
export interface WebhookPosition {
  /** All records before this number are settled: accepted, or dead letters. */
  readonly next: number;
  /** Number of dead letters of this export. */
  readonly dead: number;
  /** Position in the dead letter file; `null` if no run of the export had one. */
  readonly letters: LettersPosition | null;
}
