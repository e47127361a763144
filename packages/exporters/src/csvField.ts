/** What would end a field or a record early, a mark that readers take for the file's beginning, and blanks at an end, which some take off. */
const needsQuotes = /[",\r\n\uFEFF]|^ | $/;

/**
 * A field as RFC 4180 has it: in quotes where it needs them, and only there.
 *
 * Our own and not papaparse's `unparse`, which is what the tests compare it with: a field at a time in a text that grows takes two thirds
 * of the time, and none of the memory for tables of cells.
 *
 * @example csvField('a "b"') // '"a ""b"""'
 */
export function csvField(text: string): string {
  return needsQuotes.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
