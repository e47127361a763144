import type { RowFormat } from '@sluice/core';
import { checkColumns } from './columns.js';
import { jsonOf } from './json.js';

/** How rows become JSON Lines. */
export interface JsonlFormatOptions {
  /** Only these fields, in this order. Default: all that a row has. */
  readonly columns?: readonly string[];
}

/**
 * Rows as JSON Lines: one JSON value a line, each ended by a line feed. U+2028 and U+2029 are escaped, since some readers take them for
 * line ends. What is read back equals what was written.
 *
 * @throws ConfigError, when the encoder is made, if a column is unknown; SinkError, when a row is encoded, if it is no JSON (a BigInt,
 * a circle).
 */
export function jsonlFormat<T extends object>({ columns }: JsonlFormatOptions = {}): RowFormat<T> {
  return {
    name: 'jsonl',
    identity: { format: 'jsonl', columns: columns ? [...columns] : null },
    encoder(schema) {
      if (columns) checkColumns(columns, schema);
      const fieldsOf = columns ? (row: T): object => picked(row, columns) : (row: T): object => row;
      return {
        header: '',
        encode(rows) {
          let lines = '';
          for (const row of rows) lines += `${jsonOf(fieldsOf(row))}\n`;
          return escaped(lines);
        },
      };
    },
  };
}

function picked(row: object, columns: readonly string[]): object {
  const fields = new Map<string, unknown>(Object.entries(row));
  // `fromEntries` defines its fields, so that one named __proto__ is a field like any other.
  return Object.fromEntries(
    columns.filter((column) => fields.has(column)).map((column) => [column, fields.get(column)]),
  );
}

function escaped(lines: string): string {
  // Looked for first: hardly any text has them, and to look is faster than to replace.
  return lines.includes('\u2028') || lines.includes('\u2029')
    ? lines.replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029')
    : lines;
}
