import { expect, test } from 'vitest';
import { barChart } from '../../src/terminal/barChart.js';
import { colorsFor } from '../../src/terminal/colors.js';
import { displayWidth } from '../../src/terminal/width.js';

const colors = colorsFor(false, {});

test('bars are as long as their values, to an eighth of a column', () => {
  const bars = [
    { label: 'Copper Owls', value: 1000 },
    { label: 'Foxes', value: 500 },
    { label: '東京', value: 15 },
    { label: 'None', value: 0 },
  ];
  expect(barChart(bars, { columns: 29, colors, indent: 2 })).toBe(
    ['  Copper Owls  ███████ 1,000', '  Foxes        ███▌ 500', '  東京         ▏ 15', '  None         0', ''].join(
      '\n',
    ),
  );
});

test.each([10, 20, 40, 80, 300])('a chart fits into %i columns, as far as its labels let it', (columns) => {
  const bars = [
    { label: 'a very long label '.repeat(9), value: 3 },
    { label: 'x\ny', value: 1 },
  ];
  const widths = barChart(bars, { columns, colors }).split('\n').map(displayWidth);
  expect(Math.max(...widths)).toBeLessThanOrEqual(Math.max(columns, 34));
});

test('nothing is drawn of nothing', () => {
  expect(barChart([], { columns: 80, colors })).toBe('');
});
