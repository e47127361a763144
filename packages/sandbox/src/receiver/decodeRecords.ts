import { elementTexts } from './elementTexts.js';

/** A record of a delivery. */
export interface DeliveredRecord {
  /** In a batch the id of the envelope, otherwise the `webhook-id`. */
  readonly id: string;
  /** Its exact text; in a batch the text of its element, without surrounding white space. */
  readonly body: string;
  /** The parsed text: an envelope or a bare record; `undefined` if it is not valid JSON. */
  readonly value: unknown;
}

/**
 * Splits a body into records. A batch is `{ type: 'batch', data: [envelope, …] }` where each envelope has an id; any
 * other body is one record with the `webhook-id`.
 */
export function decodeRecords(webhookId: string, body: string): readonly DeliveredRecord[] {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    // Still one record, with any content.
  }
  const envelopes = findBatch(value);
  if (envelopes === undefined) return [{ id: webhookId, body, value }];
  const texts = elementTexts(body);
  return envelopes.map((envelope, index) => ({ id: envelope.id, body: texts[index] ?? '', value: envelope }));
}

function findBatch(value: unknown): readonly { readonly id: string }[] | undefined {
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
