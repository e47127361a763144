import { ConfigError, type RowFormat, type RowSchema } from '@sluice/core';
import { checkColumns } from './columns.js';
import { encodeCsv } from './csvEncoder.js';
import { guarded } from './formulaGuard.js';
import { jsonOf } from './json.js';

/** How rows become CSV. */
export interface CsvFormatOptions {
  /** The columns and their order. Default: the source's own. They are never guessed from the first row. */
  readonly columns?: readonly string[];
  /** Adds a last column `extra` that holds, as JSON, the fields that neither the columns nor the source's schema know. Default `false`. */
  readonly extra?: boolean;
  /**
   * Puts an apostrophe before text that a spreadsheet would run as a formula (`=HYPERLINK(…)`). Numbers and numeric text stay as
   * they are. Default `false`, so that what is read back is what was sent; turn it on for files that people open.
   */
  readonly guardFormulas?: boolean;
  /** Begins with a byte order mark, which old spreadsheets need for UTF-8. Default `false`. */
  readonly bom?: boolean;
}

const extraColumn = 'extra';

/**
 * Rows as CSV (RFC 4180): a header, CRLF after each record, quotes where they are needed. `null` and absent fields are empty, dates
 * are ISO 8601, other nested values are JSON. Half of a surrogate pair, which UTF-8 can't say, becomes U+FFFD.
 *
 * @throws ConfigError, when the encoder is made, if there are no columns or one of them is unknown; SinkError, when a row is encoded, if
 * a nested value is no JSON (a BigInt, a circle).
 */
export function csvFormat<T extends object>(options: CsvFormatOptions = {}): RowFormat<T> {
  const { extra = false, guardFormulas = false, bom = false } = options;
  return {
    name: 'csv',
    identity: { format: 'csv', columns: options.columns ? [...options.columns] : null, extra, guardFormulas, bom },
    encoder(schema) {
      const columns = columnsOf(options.columns, schema);
      const known = extra ? new Set([...columns, ...(schema?.columns ?? [])]) : undefined;
      if (known?.has(extraColumn))
        throw new ConfigError(`A column is called ${extraColumn} already, so extra can't add one of that name.`);
      const names = known ? [...columns, extraColumn] : columns;
      const guard = guardFormulas ? guarded : (text: string): string => text;
      const cellsOf = (row: T): string[] => {
        const fields = new Map<string, unknown>(Object.entries(row));
        const cells = columns.map((column) => cellOf(fields.get(column), guard));
        if (known) cells.push(extraOf(fields, known));
        return cells;
      };
      return {
        header: (bom ? '\uFEFF' : '') + encodeCsv([names.map(guard)]),
        encode: (rows) => encodeCsv(rows.map(cellsOf)),
      };
    },
  };
}

function columnsOf<T>(wanted: readonly string[] | undefined, schema: RowSchema<T> | undefined): readonly string[] {
  const columns = wanted ?? schema?.columns;
  if (!columns)
    throw new ConfigError(
      'A CSV needs columns, and the source has none of its own. Name them: csv({ columns: [...] }).',
    );
  checkColumns(columns, schema);
  return columns;
}

/** Only text can be a formula: numbers are none, and JSON begins with a bracket or a quote. */
function cellOf(value: unknown, guard: (text: string) => string): string {
  switch (typeof value) {
    case 'string':
      return guard(value);
    case 'undefined':
      return '';
    case 'object':
      if (value instanceof Date) return Number.isNaN(value.getTime()) ? '' : guard(value.toISOString());
      return value === null ? '' : jsonOf(value);
    default:
      return String(value);
  }
}

function extraOf(fields: ReadonlyMap<string, unknown>, known: ReadonlySet<string>): string {
  const unknown = [...fields].filter(([name]) => !known.has(name));
  return unknown.length === 0 ? '' : jsonOf(Object.fromEntries(unknown));
}
