import { ConfigError, DecodeError } from '../../errors.js';
import type { RowKey } from '../../rows/source/definition.js';
import { inWords, isList } from '../../values.js';

/** Identifies a row: a field, several fields together, or a function of the row. */
export type ListingKey<Row> = FieldOf<Row> | readonly [FieldOf<Row>, ...FieldOf<Row>[]] | ((row: Row) => RowKey);

type FieldOf<Row> = keyof Row & string;

/** @throws ConfigError if the key is neither of these. */
export function checkKey(key: unknown, fault: (option: string, what: string) => ConfigError): void {
  if (key === undefined || typeof key === 'function') return;
  const fields: readonly unknown[] = isList(key) ? key : [key];
  if (fields.length === 0 || fields.some((field) => typeof field !== 'string' || field === ''))
    throw fault('key', "it must be the name of a field, a list of names, e.g. ['account', 'id'], or a function");
}

/** The fields of a key; none if it is a function. */
export function keyFields<Row>(key: ListingKey<Row> | undefined): readonly string[] {
  return key === undefined || typeof key === 'function' ? [] : typeof key === 'string' ? [key] : key;
}

/** The function that returns a row's key. Several fields become a JSON list, so that different keys differ as text. */
export function keyFunction<Row extends object>(
  key: ListingKey<Row> | undefined,
  source: string,
): ((row: Row) => RowKey) | undefined {
  if (key === undefined || typeof key === 'function') return key;
  if (typeof key === 'string') return (row) => readField(row, key, { source, use: 'its key' });
  return (row) =>
    JSON.stringify(key.map((field) => String(readField(row, field, { source, use: 'a part of its key' }))));
}

/** @param about the row's source and the value's use, for errors. @throws DecodeError unless text or an integer. */
export function readField(
  row: object,
  field: string,
  about: { readonly source: string; readonly use: string },
): RowKey {
  const value: unknown = Reflect.get(row, field);
  if (typeof value === 'string' && value !== '') return value;
  if (typeof value === 'number' && Number.isSafeInteger(value)) return value;
  throw new DecodeError(
    `The field ${JSON.stringify(field)} of a row of ${about.source} is ${inWords(value)}: as ${about.use}, it must be text or a whole number.`,
    { field },
  );
}
