import { DecodeError } from '../errors.js';

/** What an API's decoder is made of: small checks that name the place in the document where one fails. */
export interface DocumentReader {
  /** @throws DecodeError unless `value` is an object and no list. */
  record(value: unknown, path: string): Record<string, unknown>;
  /** The rows in a field that may hold a list, a single row, `null` or nothing. */
  rows(value: unknown): readonly unknown[];
  /** A cursor; `undefined` where it is `null`, empty or absent. @throws DecodeError if it is something else than text. */
  cursor(value: unknown, path: string): string | undefined;
  /** The error for a value that is not what it should be. The same answer would come again, so it is not retried. */
  fault(path: string, what: string): DecodeError;
}

/** @param route the name of the endpoint whose answers are read, for the messages. */
export function documentReader(route: string): DocumentReader {
  const fault = (path: string, what: string): DecodeError =>
    new DecodeError(
      `${route} was answered with a document of another shape${path === '' ? '' : ` at ${path}`}: ${what}. Is the base address right, and this version of Sluice new enough?`,
      { route, path },
    );
  return {
    fault,
    record(value, path) {
      if (!isRecord(value)) throw fault(path, 'it is not an object');
      return value;
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

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}
