import papaparse from 'papaparse';

/** Records as CSV text (RFC 4180), each ended by CRLF. */
export function encodeCsv(records: readonly (readonly string[])[]): string {
  if (records.length === 0) return '';
  const isNarrow = records[0]?.length === 1;
  // An empty field alone on its line would be an empty line, which readers skip.
  const quotes = isNarrow ? (value: unknown): boolean => value === '' : false;
  return `${papaparse.unparse([...records], { newline: '\r\n', quotes, skipEmptyLines: false })}\r\n`;
}
