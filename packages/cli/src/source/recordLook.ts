import type { Colors } from '../terminal/colors.js';
import { fieldText } from '../terminal/fieldText.js';
import type { RowLook } from '../watch/rowLook.js';

const mostFields = 3;
const longestField = 30;

/** Rows of which only the columns are known, as soon as these are: by the first of them, with the next ones behind it. */
export function recordLook(columns: () => readonly string[], { dim }: Colors): RowLook<Record<string, unknown>> {
  return {
    noun: ['row', 'rows'],
    name: (row) => fieldText(row[columns()[0] ?? '']).trim() || '?',
    about: (row) =>
      columns()
        .slice(1, 1 + mostFields)
        .map((column) => ({ text: fieldText(row[column]), paint: dim, most: longestField })),
    became: () => ({ phrases: [], covered: [] }),
    inShort: () => '',
  };
}
