import {
  ConfigError,
  eventOfChange,
  isChange,
  type RowKey,
  type RowSchema,
  SinkError,
  SluiceError,
} from '@sluice/core';
import { sortNames } from '../columnValue.js';
import { toJson } from '../toJson.js';
import { keyInWords } from '../keyInWords.js';
import { hash } from 'node:crypto';

/** A record to send. It never changes once it is encoded. */
export interface Outgoing {
  readonly id: string;
  /** Records with the same key are sent in order; `null`: no order. */
  readonly key: string | null;
  readonly body: string;
}

/** A record with its number among all of a target: its `sequence`. */
export interface Numbered extends Outgoing {
  readonly number: number;
}

/** Whether a record is sent in an envelope or as it is, or a function that makes its body. */
export type WebhookFormat<T = never> = 'envelope' | 'bare' | ((row: T) => object);

export interface OutgoingOptions<T> {
  /** Rows with the same key are ordered. Default: the key of the row or changed row. */
  readonly key?: ((row: T) => RowKey) | null | undefined;
  /** A row's id, the same on every run. Default: a change's own id; else a hash of source, key and content. */
  readonly id?: ((row: T) => string) | undefined;
  readonly format: WebhookFormat<T>;
}

/** Encodes a row. `at` is when it was first sent, ISO 8601; `sequence` counts the records of a target from 1. */
export type RowEncoder<T> = (row: T, at: string, sequence: number) => Outgoing;

/**
 * Rows without a schema come from an operator. They may be changes, which identify themselves.
 *
 * @throws ConfigError if the rows have neither key nor id: a receiver could not recognize a repeated record. If nothing
 * says what the rows are, the encoder throws it at the first that is not a change.
 */
export function rowEncoder<T extends object>(
  source: string,
  schema: RowSchema<T> | undefined,
  { key, id, format }: OutgoingOptions<T>,
): RowEncoder<T> {
  const lacksKey = !id && !schema?.event && !schema?.key && !key;
  if (lacksKey && schema) throw unidentified(source);
  return (row, at, sequence) => {
    const event = schema?.event?.(row) ?? (!schema && isChange(row) ? eventOfChange(row) : undefined);
    if (lacksKey && !event) throw unidentified(source);
    const rowKey = event?.key ?? schema?.key?.(row);
    const given = key ? callOption('key', key, row) : undefined;
    const recordId = checkId(
      (id && callOption('id', id, row)) ?? event?.id ?? rowId(source, keyText(rowKey ?? given ?? ''), row),
    );
    const type = `${source}.${event?.type ?? 'row'}`;
    const envelope = { id: recordId, type, timestamp: event?.timestamp ?? at, source, sequence, data: row };
    const order = key === null ? undefined : (given ?? rowKey);
    return {
      id: recordId,
      key: order === undefined ? null : keyText(order),
      body: toJson(bodyOf(format, row, envelope)),
    };
  };
}

function unidentified(source: string): ConfigError {
  return new ConfigError(
    `The rows of ${source} have no key, so a receiver could not recognize a repeated one: give webhook a key, e.g. key: (row) => row.id, whose rows are sent in order; or an id, e.g. id: (row) => row.uuid.`,
    { option: 'id' },
  );
}

/** @throws SinkError that names the option whose function failed for a row. */
function callOption<T, R>(option: 'key' | 'id' | 'format', make: (row: T) => R, row: T): R {
  try {
    return make(row);
  } catch (error) {
    if (SluiceError.is(error)) throw error;
    const said = error instanceof Error ? error.message : String(error);
    throw new SinkError(`The function ${option} of webhook() failed for a row: ${said.replace(/\.$/, '')}.`, {
      details: { option },
      cause: error,
      fault: 'caller',
      advice: [{ kind: 'see-cause' }],
    });
  }
}

function bodyOf<T extends object>(format: WebhookFormat<T>, row: T, envelope: object): object {
  if (typeof format === 'function') return callOption('format', format, row);
  return format === 'bare' ? row : envelope;
}

/** A number and its digits are the same key. */
function keyText(key: unknown): string {
  if (typeof key === 'string') return key;
  if (Number.isSafeInteger(key)) return String(key);
  throw new ConfigError(`key returned ${keyInWords(key)} for a row: it must be text or a whole number.`, {
    option: 'key',
  });
}

/** An id is sent in a header, and is part of the signed text, where a full stop ends it. */
function checkId(id: unknown): string {
  if (typeof id === 'string' && /^[\x21-\x2d\x2f-\x7e]{1,256}$/.test(id)) return id;
  throw new ConfigError(
    `id returned ${JSON.stringify(id)} for a row: it must be 1 to 256 visible characters of ASCII, without a full stop.`,
    { option: 'id' },
  );
}

/** Hashes the content of a row. The order of its fields does not matter. */
export function rowId(source: string, key: string, row: object): string {
  // JSON never contains NUL, so the separator makes the hashed text unambiguous.
  const text = `${JSON.stringify(source)}\0${JSON.stringify(key)}\0${toJson(row, sortNames)}\0`;
  return hash('sha256', text).slice(0, 32);
}
