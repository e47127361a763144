/** A text as TypeScript writes it, with single quotes. */
export function quoteText(text: string): string {
  return `'${JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
}
