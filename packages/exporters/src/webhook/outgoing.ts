import { ConfigError, type RowKey, type RowSchema, SinkError, SluiceError } from '@sluice/core';
import { eventOfChange, type EventScope, inWords, isChange, isDue, sortNames } from '@sluice/core/kit';
import { toJson } from '../toJson.js';
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
  /** A row's id. Default: a change's own; else a hash of its scope and content. */
  readonly id?: ((row: T) => string) | undefined;
  readonly format: WebhookFormat<T>;
}

/** Encodes the rows of a page, one after the other. */
export type PageEncoder<T> = (scope: EventScope) => RowEncoder<T>;

/** `at` is when a row was first sent, ISO 8601; `sequence` counts the records of a target from 1. */
type RowEncoder<T> = (row: T, at: string, sequence: number) => Outgoing;

/**
 * Rows without a schema come from an operator. They may be changes, which identify themselves.
 *
 * @throws ConfigError if the rows have neither key nor id: a receiver could not recognize a repeated record. If nothing
 * says what the rows are, the encoder throws it at the first that is not a change.
 */
export function pageEncoder<T extends object>(
  source: string,
  schema: RowSchema<T> | undefined,
  { key, id, format }: OutgoingOptions<T>,
): PageEncoder<T> {
  const lacksKey = !id && !schema?.event && !schema?.key && !key;
  if (lacksKey && schema) throw unidentified(source);
  const encode = (row: T, at: string, sequence: number, scope: EventScope, nth: (id: string) => string): Outgoing => {
    const event = schema?.event?.(row) ?? (!schema && (isChange(row) || isDue(row)) ? eventOfChange(row) : undefined);
    if (lacksKey && !event) throw unidentified(source);
    const rowKey = event?.key ?? schema?.key?.(row);
    const given = key ? callOption('key', key, row) : undefined;
    const idOf = (): string => {
      if (event) return nth(event.id);
      if (rowKey !== undefined && scope.rows !== undefined) return recordId(scope.rows, row, keyText(rowKey));
      return nth(recordId(scope.page, row));
    };
    const own = checkId((id && callOption('id', id, row)) ?? idOf());
    const type = `${source}.${event?.type ?? 'row'}`;
    const envelope = { id: own, type, timestamp: event?.timestamp ?? at, source, sequence, data: row };
    const order = key === null ? undefined : (given ?? rowKey);
    return { id: own, key: order === undefined ? null : keyText(order), body: toJson(bodyOf(format, row, envelope)) };
  };
  return (scope) => {
    const nth = numberEqual();
    return (row, at, sequence) => encode(row, at, sequence, scope, nth);
  };
}

/** Tells the records of a page apart that would have one id: the second of them gets another one, and so on. */
function numberEqual(): (id: string) => string {
  const counts = new Map<string, number>();
  return (id) => {
    const before = counts.get(id) ?? 0;
    counts.set(id, before + 1);
    return before === 0 ? id : `${id}-${before}`;
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
  throw new ConfigError(`key returned ${inWords(key)} for a row: it must be text or a whole number.`, {
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

/** Hashes scope, key and content. The order of the fields does not matter. */
function recordId(scope: string, row: object, key = ''): string {
  // JSON never contains NUL, so the separator makes the hashed text unambiguous.
  const text = `${JSON.stringify(scope)}\0${JSON.stringify(key)}\0${toJson(row, sortNames)}\0`;
  return hash('sha256', text).slice(0, 32);
}
