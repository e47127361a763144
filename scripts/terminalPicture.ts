/** The colours of a picture, as `#rrggbb`; by the numbers that a terminal has for them. */
export interface Theme {
  readonly background: string;
  readonly text: string;
  /** ANSI 31 to 36. */
  readonly colors: Readonly<Record<number, string>>;
}

/** GitHub's own colours for dark pages. */
export const dark: Theme = {
  background: '#0d1117',
  text: '#e6edf3',
  colors: { 31: '#ff7b72', 32: '#3fb950', 33: '#d29922', 34: '#58a6ff', 35: '#bc8cff', 36: '#39c5cf' },
};

/** GitHub's own colours for light pages. */
export const light: Theme = {
  background: '#ffffff',
  text: '#1f2328',
  colors: { 31: '#cf222e', 32: '#116329', 33: '#7d4e00', 34: '#0550ae', 35: '#8250df', 36: '#1b7c83' },
};

/** Pixels of a character, and of the border around all of them. */
const cell = { width: 8, height: 19 } as const;
const border = 16;

/** A stretch of text in one style, and the column in which it begins. */
interface Run {
  readonly column: number;
  readonly text: string;
  readonly style: Style;
}

interface Style {
  readonly isBold: boolean;
  readonly isDim: boolean;
  /** ANSI 31 to 36. */
  readonly color?: number;
}

/**
 * Draws lines of a terminal as an SVG. It knows what the command prints: bold, dim and six colours, one column a character.
 *
 * @param lines with ANSI escapes.
 */
export function drawn(lines: readonly string[], { background, text, colors }: Theme): string {
  const runs = lines.map(runsIn);
  const columns = Math.max(...runs.flat().map(({ column, text: { length } }) => column + length));
  const width = columns * cell.width + 2 * border;
  const height = lines.length * cell.height + 2 * border;
  const rows = runs.map((row, index) => {
    const y = border + (index + 1) * cell.height - 5;
    const spans = row.map(({ column, text: shown, style: { isBold, isDim, color } }) => {
      const attributes = [
        `x="${border + column * cell.width}" textLength="${shown.length * cell.width}"`,
        ...(color === undefined ? [] : [`fill="${colors[color] ?? text}"`]),
        ...(isBold ? ['font-weight="bold"'] : []),
        ...(isDim ? ['fill-opacity="0.6"'] : []),
      ];
      return `<tspan ${attributes.join(' ')}>${escaped(shown)}</tspan>`;
    });
    return `<text y="${y}">${spans.join('')}</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="13" fill="${text}" xml:space="preserve">
<rect width="${width}" height="${height}" rx="8" fill="${background}"/>
${rows.join('\n')}
</svg>
`;
}

/** The text of a picture that `drawn` made, line by line; runs of spaces between words may be lost. */
export function linesIn(svg: string): string[] {
  return [...svg.matchAll(/<text [^>]*>(.*)<\/text>/g)].map(([, row = '']) =>
    row
      .replaceAll('</tspan>', ' ')
      .replace(/<[^>]*>/g, '')
      .replaceAll('&lt;', '<')
      .replaceAll('&gt;', '>')
      .replaceAll('&amp;', '&'),
  );
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** Takes a line apart at its escapes and at wider gaps, so that each stretch stands in its own column whatever the font is. */
function runsIn(line: string): Run[] {
  const runs: Run[] = [];
  let style: Style = { isBold: false, isDim: false };
  let column = 0;
  // eslint-disable-next-line no-control-regex -- an escape sequence begins with a control character.
  for (const [, code, text = ''] of line.matchAll(/(?:\u001b\[(\d+)m)?([^\u001b]*)/g)) {
    if (code !== undefined) style = styled(style, Number(code));
    for (const [shown] of text.matchAll(/\S+(?: \S+)*|\s+/g)) {
      if (shown.trim() !== '') runs.push({ column, text: shown, style });
      column += shown.length;
    }
  }
  return runs;
}

function styled(style: Style, code: number): Style {
  const { color, ...plain } = style;
  if (code === 1) return { ...style, isBold: true };
  if (code === 2) return { ...style, isDim: true };
  if (code === 22) return { ...style, isBold: false, isDim: false };
  if (code >= 31 && code <= 36) return { ...style, color: code };
  if (code === 39) return plain;
  if (code === 0) return { isBold: false, isDim: false };
  throw new Error(
    `The command printed the escape ${code} after colour ${color ?? 'none'}: teach it to terminalPicture.ts.`,
  );
}
