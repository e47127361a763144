import { DecodeError } from '../../errors.js';
import { isList, isRecord } from '../../values.js';

/** Small checks for decoders. Their errors name the place in the document. */
export interface DocumentReader {
  /** @throws DecodeError unless `value` is an object and not an array. */
  record(value: unknown, path: string): Record<string, unknown>;
  /**
   * An object with at least one of these fields, or without any field. An object with only other fields is something
   * else, e.g. an error sent with status 200.
   *
   * @throws DecodeError if the value is not an object, or has only other fields.
   */
  recordWith(fields: readonly string[], value: unknown, path: string): Record<string, unknown>;
  /** The rows of a field with an array, a single row, `null` or nothing. */
  rows(value: unknown): readonly unknown[];
  /** A cursor; `undefined` for `null`, empty text or nothing. @throws DecodeError for other types. */
  cursor(value: unknown, path: string): string | undefined;
  /**
   * Creates the error for an invalid value. It is not retried, since the same response would come again.
   *
   * @param hint ends the message. Default: asks about the base URL and the plugin, since the API's response is invalid.
   */
  fault(path: string, what: string, hint?: string): DecodeError;
}

/** The hint for results of a definition's functions: either the function or the response may be wrong. */
export const doesItFit = 'Does the definition fit the response, and is the base URL right?';

const ofApi = "Is the base URL right, and the API's plugin new enough?";

/**
 * Creates a reader for the responses of one endpoint.
 *
 * @param route the endpoint's name, for messages
 * @param isSecret whether a text contains a secret: the error then omits its place. Default: never.
 */
export function documentReader(route: string, isSecret?: (text: string) => boolean): DocumentReader {
  const fault = (path: string, what: string, hint = ofApi): DecodeError => {
    if (isSecret?.(`${path}: ${what}`)) return fault('', 'it contains the API key');
    const place = path === '' ? '' : ` at ${path}`;
    return new DecodeError(
      `${route}: the server responded with a document of an unexpected shape${place}: ${what}.${hint && ` ${hint}`}`,
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
