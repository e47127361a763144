import { inWords, shownText } from '../../values.js';
import { documentErrors } from './documentMessages.js';
import { keyFields, type ListingKey } from './fieldKey.js';

/** The parts that tell a row from other items of its list, such as an error: its key, or else one of its columns. */
export interface RowParts<Row> {
  readonly columns: readonly string[];
  readonly key?: ListingKey<Row> | undefined;
}

/** Says what a row made of `received` lacks, as the end of a sentence; `undefined` if it is a row. */
type LackOf<Row> = (row: Row, received: unknown) => string | undefined;

/**
 * Finds items that are not rows: they lack a part of the key or, if no part of the key is their own, all columns. A row
 * with its own key may lack columns. Values that the definition makes of the added fields alone are not a row's own.
 *
 * @param make makes a row of a received item
 * @param isMade whether `make` may give a row other fields, e.g. defaults
 */
export function lackFinder<Row>(
  { columns, key }: RowParts<Row>,
  make: (value: object) => Row,
  isMade: boolean,
): (added?: object) => LackOf<Row> {
  const fields = keyFields(key);
  const parts =
    typeof key === 'function'
      ? [(row: Row): unknown => resultOf(() => key(row))]
      : fields.map(
          (field) =>
            (row: Row): unknown =>
              fieldOf(row, field),
        );
  const compare = (added: object): LackOf<Row> => {
    const isGiven = isMade || columns.every((column) => Object.hasOwn(added, column));
    // An added field may have a blank text itself.
    const isClear = !Object.values(added).some((value) => blank.test(String(value)));
    let nothing: { readonly row: Row | undefined; readonly keys: readonly unknown[] } | undefined;
    const ofNothing = (): NonNullable<typeof nothing> => {
      if (nothing) return nothing;
      const row = resultOf(() => make({ ...added }));
      return (nothing = { row, keys: row === undefined ? [] : parts.map((read) => read(row)) });
    };
    const lackOfKey = (row: Row): string | undefined => {
      for (let nth = 0; nth < parts.length; nth += 1) {
        const value = parts[nth]?.(row);
        if (isAbsent(value) || (isClear && isBlank(value) && isSame(value, ofNothing().keys[nth])))
          return `lacks its key${describePart(fields[nth], value)}`;
      }
      return undefined;
    };
    const isGivenAlone = (row: Row): boolean =>
      parts.every((read, nth) => Object.is(read(row), ofNothing().keys[nth])) &&
      columns.every((column) => {
        const value = fieldOf(row, column);
        return value === undefined || Object.is(value, fieldOf(ofNothing().row, column));
      });
    return (row, received) => {
      const lack = lackOfKey(row);
      if (lack !== undefined || hasAny(received, columns) || !isGivenAlone(row)) return lack;
      // Values equal to defaults may be a row's own, e.g. a count of 0, unless the item has an error.
      const isRow = isGiven && hasAny(row, columns) && documentErrors(received, true) === '';
      return isRow ? undefined : 'has none of its columns';
    };
  };
  let withoutFields: LackOf<Row> | undefined;
  return (added) => (added ? compare(added) : (withoutFields ??= compare({})));
}

/** Texts that code makes of missing values, e.g. in the key `${account}/${id}`. */
const blank = /\b(?:undefined|null|NaN)\b/;

function isBlank(value: unknown): value is string {
  return typeof value === 'string' && blank.test(value);
}

function isSame(value: string, ofNothing: unknown): boolean {
  return isBlank(ofNothing) && value.replaceAll('null', 'undefined') === ofNothing.replaceAll('null', 'undefined');
}

function describePart(field: string | undefined, value: unknown): string {
  if (field === undefined) return isAbsent(value) ? `, since key returned ${inWords(value)}` : '';
  return ` ${shownText(field)}${value === null || value === '' ? `, which is ${inWords(value)}` : ''}`;
}

function hasAny(row: unknown, fields: readonly string[]): boolean {
  for (const field of fields) if (fieldOf(row, field) !== undefined) return true;
  return false;
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null || value === '' || Number.isNaN(value);
}

function fieldOf(row: unknown, field: string): unknown {
  return typeof row === 'object' && row !== null ? Reflect.get(row, field) : undefined;
}

/** The result of a definition's code, which may fail for an item that is not a row. */
function resultOf<T>(code: () => T): T | undefined {
  try {
    return code();
  } catch {
    return undefined;
  }
}
