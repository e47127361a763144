import { ConfigError, type RowKey, type RowSchema } from '@sluice/core';
import { jsonOf } from '../json.js';
import { createHash } from 'node:crypto';

/** A record on its way. What is sent is decided once, and is the same ever after. */
export interface Outgoing {
  readonly id: string;
  /** Records of the same key are sent one after another; `null` has no order. */
  readonly key: string | null;
  readonly body: string;
}

/** A record and its place among all of a target: its `sequence`. */
export interface Numbered extends Outgoing {
  readonly number: number;
}

/** How a record is written: in an envelope that names it, or as it is. */
export type WebhookFormat = 'envelope' | 'bare';

export interface OutgoingOptions<T> {
  /** What rows with an order among them have in common. Default: what names the row, or the changed row. */
  readonly key?: ((row: T) => RowKey) | null | undefined;
  /** Names a row, the same on every run. Default: a change's own id; a hash of source, key and content of a row. */
  readonly id?: ((row: T) => string) | undefined;
  readonly format: WebhookFormat;
}

/** The record of a row. `at` is when it was first on its way, ISO 8601; `sequence` counts the records of a target from 1. */
export type RowEncoder<T> = (row: T, at: string, sequence: number) => Outgoing;

/**
 * Decides how rows are named and written.
 *
 * @throws ConfigError if nothing tells the rows of this source apart: a receiver could not tell a repeated record from a new one.
 */
export function rowEncoder<T extends object>(
  source: string,
  schema: RowSchema<T> | undefined,
  { key, id, format }: OutgoingOptions<T>,
): RowEncoder<T> {
  if (!id && !schema?.event && !schema?.key && !key)
    throw new ConfigError(
      `Nothing tells the rows of ${source} apart, so a receiver could not know a repeated one: give webhook an id, e.g. id: (row) => row.uuid.`,
      { option: 'id' },
    );
  return (row, at, sequence) => {
    const event = schema?.event?.(row);
    const rowKey = event?.key ?? schema?.key?.(row);
    const given = key?.(row);
    const named = checkId(id?.(row) ?? event?.id ?? rowId(source, keyText(rowKey ?? given ?? ''), row));
    const type = `${source}.${event?.type ?? 'row'}`;
    const envelope = { id: named, type, timestamp: event?.timestamp ?? at, source, sequence, data: row };
    const order = key === null ? undefined : (given ?? rowKey);
    return {
      id: named,
      key: order === undefined ? null : keyText(order),
      body: jsonOf(format === 'bare' ? row : envelope),
    };
  };
}

/** A number is the same key as its digits. */
function keyText(key: unknown): string {
  if (typeof key === 'string') return key;
  if (Number.isSafeInteger(key)) return String(key);
  throw new ConfigError(`key gave ${String(key)} for a row: it must be text or a whole number.`, { option: 'key' });
}

/** An id travels in a header, and in the text that is signed, where a full stop ends it. */
function checkId(id: unknown): string {
  if (typeof id === 'string' && /^[\x21-\x2d\x2f-\x7e]{1,256}$/.test(id)) return id;
  throw new ConfigError(
    `id gave ${JSON.stringify(id)} for a row: it must be 1 to 256 visible characters of ASCII, without a full stop.`,
    { option: 'id' },
  );
}

/**
 * A name for a row with just this content: the same on every run, and another one as soon as a value differs. The order in which the
 * API names its fields does not matter.
 */
export function rowId(source: string, key: string, row: object): string {
  const hash = createHash('sha256');
  // Each part is ended by a character that none of them holds, so that no two rows read the same.
  for (const part of [JSON.stringify(source), JSON.stringify(key), jsonOf(row, inOrder)])
    hash.update(part).update('\0');
  return hash.digest('hex').slice(0, 32);
}

/** For JSON: the fields of a record by their names. */
function inOrder(_name: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
