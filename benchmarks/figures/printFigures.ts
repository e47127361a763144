import { printTable } from '../../prove/terminal/printTable.js';
import { isReached, type Figure } from './figure.js';

/** Prints figures as a table, with their goals. */
export function printFigures(figures: readonly Figure[]): void {
  printTable(
    ['work', 'against', 'median', 'middle half', 'goal', ''],
    figures.map((figure) => {
      const { work, against, median, from, to, unit, goal } = figure;
      const asked = goal && ('atLeast' in goal ? `>= ${shown(goal.atLeast, unit)}` : `<= ${shown(goal.atMost, unit)}`);
      const verdict = { true: 'reached', false: 'MISSED', undefined: '' }[String(isReached(figure))] ?? '';
      const spread = from === to ? '' : `${shown(from, unit)} to ${shown(to, unit)}`;
      return [work, against, shown(median, unit), spread, asked ?? '', verdict];
    }),
  );
}

function shown(value: number, unit: Figure['unit']): string {
  const digits = unit === 'x' ? 2 : 1;
  const text = unit === 'x' || unit === '%' ? value.toFixed(digits) : String(Number(value.toPrecision(3)));
  return unit === '' ? text : `${text} ${unit}`;
}
