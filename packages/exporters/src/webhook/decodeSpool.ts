import { CheckpointError } from '@sluice/core';
import type { LettersPlace } from './deadLetterFile.js';
import type { Outgoing } from './outgoing.js';

export interface SpooledRecord extends SpooledPage {
  readonly sinkPosition: WebhookPlace;
  /** Ids of records that the log does not hold any more. */
  readonly recent?: readonly string[];
}

/**
 * Reads a record that the spool wrote. Its log has checksums, so what it holds was written by us.
 *
 * @throws CheckpointError if it is of another version.
 */
export function decodeSpooledPage(record: unknown): SpooledRecord {
  const { v, at, first, sinkPosition, records, recent } = record as {
    v: number;
    at: string;
    first: number;
    sinkPosition: WebhookPlace;
    records: [string, string | null, string][];
    recent?: string[];
  };
  if (v !== 1)
    throw new CheckpointError('The spool was written by another version of Sluice, which can resume from it.', {}, [
      { kind: 'restart' },
    ]);
  return {
    ...{ at, first, sinkPosition, records: records.map(([id, key, body]) => ({ id, key, body })) },
    ...(recent && { recent }),
  };
}

/** Reads a place that a checkpoint gave back. @throws CheckpointError if it is none of a webhook. */
export function decodeWebhookPlace(sinkPosition: unknown): WebhookPlace {
  const { next, dead, letters } = (sinkPosition ?? {}) as Partial<WebhookPlace>;
  if (Number.isSafeInteger(next) && Number.isSafeInteger(dead) && letters !== undefined)
    return sinkPosition as WebhookPlace;
  throw new CheckpointError('The checkpoint does not say how far the forwarding came.', {}, [{ kind: 'restart' }]);
}

/** A page's records, as they are in the spool. */
export interface SpooledPage {
  readonly at: string;
  /** The number of the first one; the others follow without gaps. */
  readonly first: number;
  readonly records: readonly Outgoing[];
}

/** How far a target has come: what a commit, and each page in the spool, says. Plain JSON. */
export interface WebhookPlace {
  /** All records before this number are settled: taken, or among the dead letters. */
  readonly next: number;
  /** Dead letters that this export wrote. */
  readonly dead: number;
  /** Up to where the file of the dead letters is valid; `null` as long as nothing was written to it. */
  readonly letters: LettersPlace | null;
}
