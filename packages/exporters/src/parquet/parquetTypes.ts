import { SinkError } from '@sluice/core';
import { columnValues, instantText, type StoredTypes, timestampMicros } from '@sluice/core/kit';
import type { SchemaElement } from 'hyparquet-writer';

/** How Parquet stores a type of column. */
interface ParquetType {
  readonly element: Omit<SchemaElement, 'name'>;
  /** What only the footer may say, since the library would convert the values. */
  readonly inFooter?: Partial<SchemaElement>;
  /** The value that the library takes; `undefined` if the type can't hold it exactly. */
  readonly value: (cell: unknown) => unknown;
  /** The same as text, if the type can't hold another value of the column. Default: the cell. */
  readonly asText?: (cell: unknown) => string;
}

/** Readers have no other years than these: the first and the last microsecond. */
const years = [timestampMicros('0001-01-01T00:00:00Z'), timestampMicros('9999-12-31T23:59:59.999999Z')] as const;

const digitsOfDecimal = 38;
const decimal = { precision: digitsOfDecimal, scale: 0 };

export const parquetTypes: StoredTypes<ParquetType> = {
  text: {
    element: { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } },
    value: checkText,
  },
  integer: {
    element: {
      type: 'FIXED_LEN_BYTE_ARRAY',
      type_length: 16,
      converted_type: 'DECIMAL',
      logical_type: { type: 'DECIMAL', ...decimal },
      ...decimal,
    },
    value: (cell) => {
      const text = checkText(cell);
      return text.replace('-', '').length > digitsOfDecimal ? undefined : BigInt(text);
    },
  },
  number: {
    element: { type: 'DOUBLE' },
    value: (cell) => {
      const text = checkText(cell);
      const value = Number(text);
      return columnValues.number.read(value) === columnValues.number.read(text, true) ? value : undefined;
    },
  },
  boolean: { element: { type: 'BOOLEAN' }, value: (cell) => cell === true },
  timestamp: {
    element: {
      type: 'INT64',
      converted_type: 'TIMESTAMP_MICROS',
      logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MICROS' },
    },
    value: (cell) => {
      const micros = BigInt(checkText(cell));
      return micros < (years[0] ?? 0n) || micros > (years[1] ?? 0n) ? undefined : micros;
    },
    asText: (cell) => instantText(BigInt(checkText(cell))),
  },
  json: {
    element: { type: 'BYTE_ARRAY', logical_type: { type: 'JSON' } },
    // The text is JSON already: with this, the library would encode it once more. DuckDB needs it.
    inFooter: { converted_type: 'JSON' },
    value: (cell) => replaceSurrogates(checkText(cell)),
  },
};

function checkText(cell: unknown): string {
  if (typeof cell !== 'string') throw unreadable();
  return cell;
}

/** `JSON.stringify` escapes an unpaired surrogate, which DuckDB refuses in JSON. As in text, it becomes U+FFFD. */
function replaceSurrogates(json: string): string {
  if (!json.includes('\\ud')) return json;
  return json.replace(/\\(?:u(d[89a-f][\da-f]{2})|.)/g, (escape, surrogate) => (surrogate ? '\ufffd' : escape));
}

/** Committed rows that this sink did not write. */
export function unreadable(): SinkError {
  return new SinkError("The committed rows can't be read: they were written for other columns.", {
    advice: [{ kind: 'restart' }],
  });
}
