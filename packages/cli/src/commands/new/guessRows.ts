import type { Field } from './documentFields.js';
import type { Guess, ListingDraft } from './draft.js';

type RowGuess = Pick<ListingDraft, 'columns' | 'types' | 'key'>;

/** The columns of example rows, their types, and the field that identifies a row. */
export function guessRows(rows: readonly Readonly<Record<string, unknown>>[]): RowGuess {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const types = columns.flatMap((column): [string, string][] => {
    const type = typeOf(rows.map((row) => row[column]).filter((value) => value !== undefined && value !== null));
    return type === 'text' ? [] : [[column, type]];
  });
  const key = columns
    .filter((column) => isKey(rows.map((row) => row[column])))
    .sort((a, b) => rankKey(a) - rankKey(b))
    .find((column) => rankKey(column) < keyNames.length);
  return {
    columns,
    types: Object.fromEntries(types),
    key: key === undefined ? undefined : { value: key, why: `it differs in ${rows.length} row(s)` },
  };
}

/** Where a response has the number of all rows. @param listed the rows of this response */
export function guessTotal(fields: readonly Field[], listed: number): Guess<string> | undefined {
  // The largest one: Cloudflare's count is that of the page, its total_count that of the listing.
  const [found] = fields
    .filter(
      ({ name, value, kind }) =>
        totalName.test(name) && (kind === 'unknown' || (kind === 'number' && Number(value ?? listed) >= listed)),
    )
    .sort((a, b) => Number(b.value ?? 0) - Number(a.value ?? 0));
  return found && { value: `${found.path}?` };
}

/** Names that keys have, the most usual first. */
const keyNames = [
  /^_?id$/i,
  /^(uuid|guid|gid|sid|uid|key|number|iid)$/i,
  /(_id|Id|_uuid)$/,
  /^(slug|name|code|email)$/i,
];
const totalName = /^(total|total_?(count|results|items|records|rows|size|hits)|num_?found|count|@odata\.count)$/i;

/** The place of a name among those of keys; behind the last one, it is none. */
export function rankKey(name: string): number {
  const rank = keyNames.findIndex((names) => names.test(name));
  return rank < 0 ? keyNames.length : rank;
}

/** The type of a column with these values. */
function typeOf(values: readonly unknown[]): string {
  if (values.length === 0) return 'text';
  if (values.every((value) => Number.isInteger(value))) return 'integer';
  if (values.every((value) => typeof value === 'number')) return 'number';
  if (values.every((value) => typeof value === 'boolean')) return 'boolean';
  if (values.every((value) => typeof value === 'string')) return values.every(isTimestamp) ? 'timestamp' : 'text';
  return values.some((value) => typeof value === 'object') ? 'json' : 'text';
}

function isTimestamp(value: unknown): boolean {
  return typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:\d\d)$/.test(value);
}

function isKey(values: readonly unknown[]): boolean {
  const isEach = values.every((value) => (typeof value === 'string' && value !== '') || Number.isSafeInteger(value));
  return isEach && new Set(values).size === values.length;
}
