import { DecodeError } from '../errors.js';
import { isRecord } from '../values.js';

/** What an API's decoder is made of: small checks that name the place in the document where one fails. */
export interface DocumentReader {
  /** @throws DecodeError unless `value` is an object and no list. */
  record(value: unknown, path: string): Record<string, unknown>;
  /**
   * A record that knows at least one of these fields. Any of them may be missing, also all; but what has only others is something
   * else, e.g. an error that came with status 200.
   *
   * @throws DecodeError if it is no record, or has other fields only.
   */
  recordWith(fields: readonly string[], value: unknown, path: string): Record<string, unknown>;
  /** The rows in a field that may hold a list, a single row, `null` or nothing. */
  rows(value: unknown): readonly unknown[];
  /** A cursor; `undefined` where it is `null`, empty or absent. @throws DecodeError if it is something else than text. */
  cursor(value: unknown, path: string): string | undefined;
  /** The error for a value that is not what it should be. The same answer would come again, so it is not retried. */
  fault(path: string, what: string): DecodeError;
}

/** Options of {@link documentReader}. */
export interface DocumentReaderOptions {
  /** Whether a secret stands in a text: such a fault is told without its place. Default: none does. */
  readonly isSecret?: (text: string) => boolean;
}

/**
 * A reader of one endpoint's answers.
 *
 * @param route the name of the endpoint whose answers are read, for the messages.
 */
export function documentReader(route: string, { isSecret }: DocumentReaderOptions = {}): DocumentReader {
  const fault = (path: string, what: string): DecodeError => {
    if (isSecret?.(`${path}: ${what}`)) return fault('', 'the API key stands where it has no business');
    const place = path === '' ? '' : ` at ${path}`;
    return new DecodeError(
      `${route}: the server responded with a document of another shape${place}: ${what}. Is the base address right, and the API's plugin new enough?`,
      { route, path },
    );
  };
  const record = (value: unknown, path: string): Record<string, unknown> => {
    if (!isRecord(value)) throw fault(path, 'it is not an object');
    return value;
  };
  return {
    fault,
    record,
    recordWith(fields, value, path) {
      const found = record(value, path);
      if (fields.some((field) => Object.hasOwn(found, field)) || Object.keys(found).length === 0) return found;
      throw fault(path, `it has none of the fields ${fields.join(', ')}`);
    },
    rows(value) {
      if (value === undefined || value === null) return [];
      return isList(value) ? value : [value];
    },
    cursor(value, path) {
      if (value === undefined || value === null || value === '') return undefined;
      if (typeof value !== 'string') throw fault(path, 'it is not text');
      return value;
    },
  };
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}
