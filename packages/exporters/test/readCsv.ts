import { parse } from 'csv-parse/sync';

/**
 * All records of a CSV, read by a parser that we didn't write, as strictly as it can: records of one length, quotes only where they belong.
 * It is read once with CRLF as the only line end and once with all of them, so that none can stand outside of quotes.
 */
export function readCsv(text: string): string[][] {
  const records = parse(text, { record_delimiter: '\r\n' });
  const loosely = parse(text, { record_delimiter: ['\r\n', '\n', '\r'] });
  if (loosely.length !== records.length) throw new Error('A line end stands outside of quotes.');
  return records;
}

/** The cell that a field of a row should have become, by the documentation alone. */
export function cellFor(value: unknown): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** A row of the schema's shape: by name, own fields only. */
export function fieldOf(row: object, name: string): unknown {
  return Object.getOwnPropertyDescriptor(row, name)?.value;
}
