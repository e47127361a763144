import { describe, expect, test } from 'vitest';
import { colorsFor } from '../../src/terminal/colors.js';
import { type Column, columnWidths, table } from '../../src/terminal/textTable.js';
import { displayWidth } from '../../src/terminal/width.js';

const colors = colorsFor(false, {});

describe('the widths of columns', () => {
  test.each([
    ['enough room', [10, 5], [4, 4], 20, [10, 5]],
    ['the widest gives way first', [10, 5], [4, 4], 14, [7, 5]],
    ['then both', [10, 5], [4, 4], 11, [4, 5]],
    ['one that can give way no further is left alone', [10, 10, 6], [10, 4, 4], 22, [10, 4, 4]],
    ['too little for all: the last one goes', [10, 10, 10], [8, 8, 8], 20, [9, 9]],
    ['too little even for the first', [10, 10], [8, 8], 3, [8]],
    ['a narrow one keeps what it wants', [2, 30], [8, 8], 14, [2, 10]],
  ])('%s', (_, wanted, min, available, widths) => {
    const needs = wanted.map((width, at) => ({ wanted: width, min: min[at] ?? 0 }));
    expect(columnWidths(needs, available, 2)).toEqual(widths);
  });
});

interface Row {
  readonly name: string;
  readonly amount: string;
}

const shape: readonly Column<Row>[] = [
  { title: 'name', cell: ({ name }) => name },
  { title: 'amount', align: 'right', cell: ({ amount }) => amount, min: 6 },
];

describe('a table', () => {
  test('is aligned, without lines and without blanks at the end', () => {
    const rows = [
      { name: 'Paper Foxes #1', amount: '1' },
      { name: 'Ink', amount: '1200' },
    ];
    expect(table(shape, rows, { columns: 80, colors })).toEqual({
      text: ['name            amount', 'Paper Foxes #1       1', 'Ink               1200', ''].join('\n'),
      leftOut: [],
    });
  });

  test('without rows is its head', () => {
    expect(table(shape, [], { columns: 80, colors }).text).toBe('name  amount\n');
  });

  test('shows line ends and escapes, and stays on its lines', () => {
    const { text } = table(shape, [{ name: 'two\nlines \u001b[31m', amount: '' }], { columns: 80, colors });
    expect(text).toBe('name             amount\ntwo␊lines ␛[31m\n');
  });

  test.each([20, 30, 80, 200])('never gets wider than %i columns', (columns) => {
    const rows = [
      { name: 'a very long text '.repeat(300), amount: '1'.repeat(78) },
      { name: '東京の夜、雨'.repeat(20), amount: '🦊'.repeat(50) },
    ];
    const { text } = table(shape, rows, { columns, colors });
    expect(Math.max(...text.split('\n').map(displayWidth))).toBeLessThanOrEqual(columns);
  });

  test('names the columns that found no room', () => {
    expect(table(shape, [{ name: 'Paper Foxes #1', amount: '12' }], { columns: 12, colors }).leftOut).toEqual([
      'amount',
    ]);
  });

  test('paints what was cut, so that colours take no room', () => {
    const red: Column<Row> = {
      title: 'name',
      cell: ({ name }) => name,
      paint: (text) => `\u001b[31m${text}\u001b[39m`,
    };
    const { text } = table([red, ...shape.slice(1)], [{ name: 'x'.repeat(20), amount: '1' }], { columns: 18, colors });
    expect(text).toBe(`name        amount\n\u001b[31mxxxxxxxxx…\u001b[39m       1\n`);
  });
});
