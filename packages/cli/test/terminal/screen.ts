/**
 * What a terminal of so many columns shows at the end, as lines: it knows line feeds, returns, and how to erase to the
 * end of a line, and breaks a line that is too long.
 */
export function screenOf(text: string, columns: number): string[] {
  const lines: string[][] = [[]];
  let column = 0;
  // eslint-disable-next-line no-control-regex -- the controls that a progress bar uses
  for (const part of text.match(/\u001b\[K|[^]/gu) ?? []) {
    if (part === '\n') {
      lines.push([]);
      column = 0;
    } else if (part === '\r') column = 0;
    else if (part === '\u001b[K') lines.at(-1)?.splice(column);
    else {
      if (column === columns) {
        lines.push([]);
        column = 0;
      }
      const line = lines.at(-1) ?? [];
      while (line.length < column) line.push(' ');
      line[column] = part;
      column += 1;
    }
  }
  return lines.map((line) => line.join('').trimEnd());
}
