import { elementTexts } from './elementTexts.js';

/** One record of a delivery. */
export interface DeliveredRecord {
  /** The envelope's own id in a batch; else the `webhook-id`. */
  readonly id: string;
  /** Its exact text. In a batch that of its element, without the white space around it. */
  readonly body: string;
  /** What the text parses to: an envelope or a bare record; `undefined` where it is no JSON. */
  readonly value: unknown;
}

/**
 * Takes a body apart. A batch is `{ type: 'batch', data: [envelope, …] }` where each envelope has an id; all else is one
 * record whose id is the `webhook-id`. Pure.
 */
export function decodeRecords(webhookId: string, body: string): readonly DeliveredRecord[] {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    // One record all the same: what it holds is not our business.
  }
  const envelopes = batchOf(value);
  if (envelopes === undefined) return [{ id: webhookId, body, value }];
  const texts = elementTexts(body);
  return envelopes.map((envelope, index) => ({ id: envelope.id, body: texts[index] ?? '', value: envelope }));
}

function batchOf(value: unknown): readonly { readonly id: string }[] | undefined {
  if (!isObject(value) || value['type'] !== 'batch') return undefined;
  const { data } = value;
  return Array.isArray(data) && data.every(hasId) ? data : undefined;
}

function hasId(value: unknown): value is { readonly id: string } {
  return isObject(value) && typeof value['id'] === 'string';
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
