import { hash } from 'node:crypto';
import type { Numbered } from './outgoing.js';

export interface BatchLimits {
  readonly count: number;
  readonly bytes: number;
}

export interface Delivery {
  /** The `webhook-id` of a record or of a batch. */
  readonly id: string;
  readonly body: string;
}

/** Fields of a batch's envelope. */
export interface BatchContext {
  readonly source: string;
  readonly at: string;
}

/** Splits records into batches within the limits; a record above the limit is a batch by itself. Deterministic. */
export function splitIntoBatches(records: readonly Numbered[], { count, bytes }: BatchLimits): Numbered[][] {
  const batches: Numbered[][] = [];
  let batch: Numbered[] = [];
  let size = 0;
  for (const record of records) {
    const length = Buffer.byteLength(record.body);
    if (batch.length > 0 && (batch.length === count || size + length > bytes)) {
      batches.push(batch);
      batch = [];
      size = 0;
    }
    batch.push(record);
    size += length;
  }
  return batch.length > 0 ? [...batches, batch] : batches;
}

/**
 * Puts records, each in its envelope, into one envelope. Its id is a hash of theirs, so it is stable.
 *
 * @example {"id":"9f…","type":"batch","timestamp":"…","source":"aptos.nfts","sequence":101,"data":[{"id":"1c…"}]}
 */
export function encodeBatch(records: readonly Numbered[], { source, at }: BatchContext): Delivery {
  const id = hash('sha256', records.map((record) => `${record.id}\0`).join('')).slice(0, 32);
  const head = JSON.stringify({ id, type: 'batch', timestamp: at, source, sequence: records[0]?.number ?? 0 });
  return { id, body: `${head.slice(0, -1)},"data":[${records.map(({ body }) => body).join(',')}]}` };
}
