import type { Colors } from './colors.js';
import { visibleText } from './text.js';
import { cutToWidth, displayWidth } from './width.js';

/** A column of a table. */
export interface Column<T> {
  readonly title: string;
  /** The cell's text. Control characters are shown safely. */
  readonly cell: (row: T) => string;
  /** Minimum width. Default 8. */
  readonly min?: number;
  readonly align?: 'left' | 'right';
  /** Colours a cell, after it is cut to its width. */
  readonly paint?: Paint;
}

type Paint = (text: string) => string;

interface DrawnTable {
  /** Lines, each ended by a line feed. */
  readonly text: string;
  /** Titles of columns that did not fit. */
  readonly leftOut: readonly string[];
}

const gap = 2;
/** Maximum width of a cell. */
const widest = 60;

/** Draws rows as an aligned table without lines. To fit into `columns`, cuts cells and drops columns from the end. */
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

interface ColumnNeed {
  /** The width of its widest cell. */
  readonly wanted: number;
  readonly min: number;
}

/**
 * The widths of a table's columns, so that it fits into `available` columns with `gap` between two. The widest shrink
 * first. If even the minimum widths do not fit, drops columns from the end, but never the first.
 */
export function columnWidths(needs: readonly ColumnNeed[], available: number, gap: number): number[] {
  const widths = needs.map(({ wanted }) => wanted);
  const mins = needs.map(({ wanted, min }) => Math.min(wanted, min));
  while (widths.length > 1 && sum(mins.slice(0, widths.length)) + gap * (widths.length - 1) > available) widths.pop();
  let excess = sum(widths) + gap * (widths.length - 1) - available;
  while (excess > 0) {
    const shrinkable = widths.map((width, at) => (width > (mins[at] ?? 0) ? width : 0));
    const widest = Math.max(...shrinkable);
    if (widest === 0) break;
    widths[shrinkable.indexOf(widest)] = widest - 1;
    excess -= 1;
  }
  return widths;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
