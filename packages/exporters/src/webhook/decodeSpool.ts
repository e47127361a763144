import { CheckpointError } from '@sluice/core';
import type { SpooledPage, WebhookPlace } from './spooledPage.js';

/** A record of the spool's log. */
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
