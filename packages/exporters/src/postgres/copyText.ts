import type { SqlValue } from '../sql/database.js';

/**
 * Rows in the text format of COPY.
 *
 * @see https://www.postgresql.org/docs/current/sql-copy.html#SQL-COPY-FILE-FORMATS
 * @example copyText([['a\tb', null, 1n]]) // 'a\\tb\t\\N\t1\n'
 */
export function copyText(rows: readonly (readonly SqlValue[])[]): string {
  let text = '';
  for (const row of rows) {
    let line = '';
    for (let nth = 0; nth < row.length; nth += 1) {
      const value = row[nth];
      const field =
        value === null || value === undefined ? '\\N' : typeof value === 'string' ? escapeField(value) : `${value}`;
      line += nth === 0 ? field : `\t${field}`;
    }
    text += `${line}\n`;
  }
  return text;
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
