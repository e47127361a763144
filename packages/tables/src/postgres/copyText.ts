import type { SqlValue } from '../sql/database.js';

/** Bytes of a chunk. */
const chunkSize = 256 * 1024;

/**
 * Rows in the text format of COPY, in chunks.
 *
 * @see https://www.postgresql.org/docs/current/sql-copy.html#SQL-COPY-FILE-FORMATS
 */
export function* copyChunks(rows: readonly (readonly SqlValue[])[]): Generator<Buffer, void, undefined> {
  let chunk = Buffer.allocUnsafe(chunkSize);
  let end = 0;
  for (const row of rows) {
    const line = copyLine(row);
    // The text of one row is flat, and mostly of one byte per character: that of many rows takes twice the time.
    const longest = line.length * 3;
    if (end + longest > chunk.length) {
      yield chunk.subarray(0, end);
      chunk = Buffer.allocUnsafe(Math.max(chunkSize, longest));
      end = 0;
    }
    end += chunk.write(line, end);
  }
  yield chunk.subarray(0, end);
}

/** @example copyLine(['a\tb', null, 1n]) // 'a\\tb\t\\N\t1\n' */
export function copyLine(row: readonly SqlValue[]): string {
  let line = '';
  for (let nth = 0; nth < row.length; nth += 1) {
    const value = row[nth];
    const field =
      value === null || value === undefined ? '\\N' : typeof value === 'string' ? escapeField(value) : `${value}`;
    line += nth === 0 ? field : `\t${field}`;
  }
  return `${line}\n`;
}

const special = /[\\\t\n\r]/;
const breaks = /[\t\n\r]/;
const escapes: Readonly<Record<string, string>> = { '\t': '\\t', '\n': '\\n', '\r': '\\r' };

function escapeField(text: string): string {
  if (!special.test(text)) return text;
  // JSON has many of them, and mostly nothing else.
  const slashed = text.replaceAll('\\', '\\\\');
  return breaks.test(slashed) ? slashed.replace(/[\t\n\r]/g, (found) => escapes[found] ?? found) : slashed;
}
