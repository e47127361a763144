import type { Colors } from './colors.js';
import { visibleText } from './text.js';
import { cutToWidth, displayWidth } from './width.js';

/** A column of a table. */
export interface Column<T> {
  readonly title: string;
  /** The cell's text, which may hold anything: it is shown safely. */
  readonly cell: (row: T) => string;
  /** Narrower than this it makes no sense. Default 8. */
  readonly min?: number;
  readonly align?: 'left' | 'right';
  /** Paints a cell that was already cut to its width. */
  readonly paint?: Paint;
}

type Paint = (text: string) => string;

/** A table as text, and the columns that found no room. */
interface DrawnTable {
  /** Lines, each ended by a line feed. */
  readonly text: string;
  readonly leftOut: readonly string[];
}

const gap = 2;
/** A cell never gets wider, whatever the terminal is. */
const widest = 60;

/** Draws rows as an aligned table without lines. Cells are cut, and columns left out from the end, until it fits into `columns`. */
export function table<T>(
  shape: readonly Column<T>[],
  rows: readonly T[],
  { columns, colors }: { readonly columns: number; readonly colors: Colors },
): DrawnTable {
  const cells = rows.map((row) => shape.map(({ cell }) => visibleText(cell(row).slice(0, 4 * widest))));
  const needs = shape.map(({ title, min = 8 }, at) => ({
    wanted: Math.min(widest, Math.max(title.length, ...cells.map((row) => displayWidth(row[at] ?? '')))),
    min: Math.max(title.length, min),
  }));
  const widths = columnWidths(needs, columns, gap);
  const shown = shape.slice(0, widths.length);
  const line = (texts: readonly string[], paintOf: (column: Column<T>) => Paint): string => {
    const padded = shown.map((column, at) => {
      const width = widths[at] ?? 0;
      const text = cutToWidth(texts[at] ?? '', width);
      const painted = text === '' ? '' : paintOf(column)(text);
      const blanks = ' '.repeat(width - displayWidth(text));
      return column.align === 'right' ? blanks + painted : painted + blanks;
    });
    return `${padded.join(' '.repeat(gap)).trimEnd()}\n`;
  };
  const titles = shown.map(({ title }) => title);
  const lines = cells.map((row) => line(row, ({ paint = (text) => text }) => paint));
  return {
    text: [line(titles, () => colors.bold), ...lines].join(''),
    leftOut: shape.slice(widths.length).map(({ title }) => title),
  };
}

/** What a column of a table asks for. */
interface ColumnNeed {
  /** Its widest cell. */
  readonly wanted: number;
  /** It can be cut down to this, and makes no sense below. */
  readonly min: number;
}

/**
 * How wide a table's columns are, so that it fits into `available` columns with `gap` between two: the widest give way first. Where
 * even the least widths don't fit, columns are left out from the end; the answer is shorter then. The first one always stays.
 */
export function columnWidths(needs: readonly ColumnNeed[], available: number, gap: number): number[] {
  const widths = needs.map(({ wanted }) => wanted);
  const leasts = needs.map(({ wanted, min }) => Math.min(wanted, min));
  while (widths.length > 1 && sum(leasts.slice(0, widths.length)) + gap * (widths.length - 1) > available) widths.pop();
  let excess = sum(widths) + gap * (widths.length - 1) - available;
  while (excess > 0) {
    const room = widths.map((width, at) => (width > (leasts[at] ?? 0) ? width : 0));
    const widest = Math.max(...room);
    if (widest === 0) break;
    widths[room.indexOf(widest)] = widest - 1;
    excess -= 1;
  }
  return widths;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
