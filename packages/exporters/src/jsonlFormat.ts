import { checkColumns, checkOptions, isRecord, type RowFormat, shownText, tryParseJson } from '@sluice/core/kit';
import { escapeLineEnds, toJson } from './toJson.js';

/** How rows become JSON Lines. */
export interface JsonlFormatOptions {
  /** Only these fields, in this order. Default: all fields of a row. */
  readonly columns?: readonly string[] | undefined;
}

/** The names of these options. */
export const jsonlFormatNames = { columns: true } as const;

/**
 * Rows as JSON Lines: one JSON value per line, each ended by a line feed. U+0085, U+2028 and U+2029 are escaped,
 * because some readers take them for line ends. The values are exact: parsing a line gives the row.
 *
 * @throws ConfigError if a column is unknown, when the encoder is created; SinkError if a row is not valid JSON (a
 * BigInt, a cycle), when it is encoded.
 */
export function jsonlFormat<T extends object>(options: JsonlFormatOptions = {}): RowFormat<T> {
  checkOptions('jsonlFormat()', options, jsonlFormatNames);
  const { columns } = options;
  return {
    name: 'jsonl',
    identity: { format: 'jsonl', columns: columns ? [...columns] : null },
    encoder(schema) {
      if (columns) checkColumns(columns, schema);
      const fieldsOf = columns ? (row: T): object => pickFields(row, columns) : (row: T): object => row;
      return {
        header: '',
        follows: (start) => faultOfRow(start, columns, schema?.columns),
        encode(rows) {
          let lines = '';
          for (const row of rows) lines += `${toJson(fieldsOf(row))}\n`;
          return escapeLineEnds(lines);
        },
      };
    },
  };
}

/** Why rows of these columns can't follow this row. Rows may lack fields, and without `columns` have further ones. */
function faultOfRow(
  start: string,
  columns: readonly string[] | undefined,
  known: readonly string[] = [],
): string | undefined {
  const end = start.indexOf('\n');
  // A row of megabytes is not read for this.
  if (end < 0) return undefined;
  const line = start.slice(0, end);
  const fields = fieldNames(line);
  if (!fields) return `begins with ${shownText(line)}, which is no JSON object in a line`;
  const isAlike = columns
    ? fields.every((name) => columns.includes(name))
    : known.length === 0 || fields.some((name) => known.includes(name));
  if (isAlike) return undefined;
  return `has rows with other fields: ${shownText(fields.join(', '), 200)}`;
}

function fieldNames(line: string): readonly string[] | undefined {
  const row = tryParseJson(line);
  return isRecord(row) ? Object.keys(row) : undefined;
}

function pickFields(row: object, columns: readonly string[]): object {
  const fields = new Map<string, unknown>(Object.entries(row));
  // `fromEntries` defines properties, so a column named __proto__ is an ordinary field.
  return Object.fromEntries(
    columns.filter((column) => fields.has(column)).map((column) => [column, fields.get(column)]),
  );
}
