import { ConfigError, type RowFormat, type RowSchema } from '@sluice/core';
import { encodeCsv } from './csvEncoder.js';
import { guarded } from './formulaGuard.js';

/** How rows become CSV. */
export interface CsvFormatOptions {
  /** The columns and their order. Default: the source's own. They are never guessed from the first row. */
  readonly columns?: readonly string[];
  /** Adds a last column `extra` that holds, as JSON, the fields that the source's schema does not know. Default `false`. */
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
 * Rows as CSV (RFC 4180): a header, CRLF after each record, quotes where they are needed. `null` and absent fields are empty, nested
 * values are JSON.
 *
 * @throws ConfigError, when the encoder is made, if there are no columns or one of them is unknown.
 */
export function csvFormat<T extends object>(options: CsvFormatOptions = {}): RowFormat<T> {
  const { extra = false, guardFormulas = false, bom = false } = options;
  return {
    name: 'csv',
    identity: { format: 'csv', columns: options.columns ? [...options.columns] : null, extra, guardFormulas, bom },
    encoder(schema) {
      const columns = columnsOf(options.columns, schema);
      const known = extra ? new Set([...columns, ...(schema?.columns ?? [])]) : undefined;
      const names = known ? [...columns, extraColumn] : columns;
      const guard = guardFormulas ? guarded : (text: string): string => text;
      const cellsOf = (row: T): string[] => {
        const fields = new Map<string, unknown>(Object.entries(row));
        const cells = columns.map((column) => guard(cellOf(fields.get(column))));
        if (known) cells.push(guard(extraOf(fields, known)));
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
  const columns = wanted ?? schema?.columns ?? [];
  if (columns.length === 0)
    throw new ConfigError(
      'A CSV needs columns, and the source has none of its own. Name them: csv({ columns: [...] }).',
    );
  const unknown = columns.find((column) => schema && !schema.columns.includes(column));
  if (unknown !== undefined)
    throw new ConfigError(
      `There is no column ${JSON.stringify(unknown)}. The columns are: ${schema?.columns.join(', ') ?? ''}.`,
    );
  const repeated = columns.find((column, index) => columns.indexOf(column) !== index);
  if (repeated !== undefined) throw new ConfigError(`The column ${JSON.stringify(repeated)} is named twice.`);
  return columns;
}

function cellOf(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return value;
    case 'undefined':
      return '';
    case 'object':
      return value === null ? '' : JSON.stringify(value);
    default:
      return String(value);
  }
}

function extraOf(fields: ReadonlyMap<string, unknown>, known: ReadonlySet<string>): string {
  const unknown = [...fields].filter(([name]) => !known.has(name));
  return unknown.length === 0 ? '' : JSON.stringify(Object.fromEntries(unknown));
}
