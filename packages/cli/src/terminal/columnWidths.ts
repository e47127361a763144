/** What a column of a table asks for. */
export interface ColumnNeed {
  /** Its widest cell. */
  readonly wanted: number;
  /** It can be cut down to this, and makes no sense below. */
  readonly least: number;
}

/**
 * How wide a table's columns are, so that it fits into `available` columns with `gap` between two: the widest give way first. Where
 * even the least widths don't fit, columns are left out from the end; the answer is shorter then. The first one always stays.
 */
export function columnWidths(needs: readonly ColumnNeed[], available: number, gap: number): number[] {
  const widths = needs.map(({ wanted }) => wanted);
  const leasts = needs.map(({ wanted, least }) => Math.min(wanted, least));
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
