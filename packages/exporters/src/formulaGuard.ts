/** What a spreadsheet takes for the beginning of a formula, or skips before looking for one; full-width forms included. */
const formulaStart = /^[=+\-@\t\r\n\0＝＋－＠]/u;
/** A sign alone makes no formula of a number. No digit can match in two ways: a long text would take for ever. */
const number = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i;

/**
 * Text that no spreadsheet runs: an apostrophe goes before what looks like a formula, numbers stay as they are.
 *
 * @see OWASP, CSV injection
 * @example guarded('=1+1') // "'=1+1"
 * @example guarded('-1') // '-1'
 */
export function guarded(text: string): string {
  return formulaStart.test(text) && !number.test(text) ? `'${text}` : text;
}
