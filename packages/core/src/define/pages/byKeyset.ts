import { checkOptions } from '../../checks.js';
import { ConfigError } from '../../errors.js';
import { isExactNumber, parseExactly } from '../../http/response/exactNumbers.js';
import { ExactNumber, jsonText } from '../../json.js';
import type { DocumentReader } from '../responses/documentReader.js';
import { isList, kindOf } from '../../values.js';
import { type DocumentPath, documentPath } from '../responses/documentPath.js';
import { moreKinds, type MoreOptions, withMoreFlag } from './moreFlag.js';
import { cursorOf, leftOutFault, type Paging } from './paging.js';
import { joinPlaces, parsePlace, placeKinds, type RequestPlace } from '../requests/requestPlace.js';

/** One value of the last row, and where the next request has it. */
export type KeysetValue = RequestPlace & {
  /** The value's path in a row as it was received, e.g. `updated_at` or `sort[0]`. */
  readonly field: string;
};

/** Options of {@link byKeyset}. Without any, a page without rows ends the listing. */
export type KeysetOptions = MoreOptions;

/**
 * Paging by values of the last row, by which the API sorts: the next page has the rows after them.
 *
 * Together the values must identify a row: of rows that share all of them, those on the next page would be missed.
 * Texts, numbers and booleans keep their type and all their digits. A value that is missing or `null` is an error. A
 * row that changes its values during a walk may be missed or come twice.
 *
 * @example
 * byKeyset([{ field: 'created_at', param: 'after_date' }, { field: 'id', param: 'after_id' }])
 * byKeyset([{ field: 'sort[0]', into: 'search_after[0]' }, { field: 'sort[1]', into: 'search_after[1]' }])
 *
 * @throws ConfigError if there is no value, or a path is invalid. Later: DecodeError if the last row lacks a value.
 */
export function byKeyset(values: readonly KeysetValue[], options: KeysetOptions = {}): Paging {
  checkOptions('byKeyset()', options, moreKinds);
  if (!isList(values)) throw new ConfigError(`The values of byKeyset() are ${kindOf(values)}, and must be a list.`);
  for (const value of values) checkOptions('A value of byKeyset()', value, { ...placeKinds, field: 'text' });
  if (values.length === 0) throw new ConfigError('byKeyset needs at least one value of the last row.');
  const keys = values.map(({ field, ...place }) => ({ ...parsePlace(place), field, path: documentPath(field) }));
  return withMoreFlag(options, {
    identity: { by: 'keyset', values: keys.map(({ identity, field }) => ({ ...identity, field })) },
    ...joinPlaces(keys.map(({ sets }) => sets)),
    reads: [],
    request(first, from) {
      const known = decodeKeyset(cursorOf(from), keys.length);
      return keys.reduce((request, { put }, nth) => put(request, known[nth] ?? ''), first);
    },
    next({ rows, items, read }, follows) {
      if (rows.length === 0) {
        if (items > 0) throw leftOutFault(read);
        if (follows) throw read.fault('', 'more rows follow, but there is no row to continue after');
        return 'end';
      }
      const inRow = createRowReader(read);
      const last = keys.map(({ path }) => readKey(path, rows.at(-1), inRow));
      return { cursor: jsonText(last) };
    },
  });
}

type Key = string | number | boolean | ExactNumber;

/** Numbers of a response are exact. Only a link can make one that is not. */
function isKey(value: unknown): value is Key {
  if (value instanceof ExactNumber) return true;
  if (typeof value === 'number')
    return Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value));
  return typeof value === 'string' || typeof value === 'boolean';
}

function readKey(path: DocumentPath, row: unknown, read: DocumentReader): Key {
  const value = path.find(row, read);
  if ((typeof value === 'string' || typeof value === 'number') && path.isExactNumber(row))
    return new ExactNumber(String(value));
  if (isKey(value)) return value;
  const what = typeof value === 'number' ? 'a number that is not exact' : kindOf(value);
  throw read.fault(path.text, `it is ${what}, so the next page can't be requested after it`);
}

/** A reader whose errors name paths in the last row. */
function createRowReader(read: DocumentReader): DocumentReader {
  return {
    ...read,
    fault: (path, what) => read.fault(path === '' ? 'the last row' : `${path} of the last row`, what),
  };
}

function decodeKeyset(cursor: string, length: number): readonly Key[] {
  let found: unknown;
  try {
    found = parseExactly(cursor);
  } catch {
    found = undefined;
  }
  if (isList(found) && found.length === length) {
    const keys = found.map((key, nth) => (isExactNumber(found, nth) ? new ExactNumber(String(key)) : key));
    if (keys.every(isKey)) return keys;
  }
  throw new ConfigError(
    `startAt is not a list of ${length} value(s) of a row as JSON, e.g. ["2024-05-01",17]. Give one, or start without it.`,
  );
}
