import { expect, test } from 'vitest';
import { pickFor } from '../../src/options/option.js';
import { chooseRowFormat, formatOf, rowFormats } from '../../src/options/rowFormats.js';

test.each([
  ['holdings.csv', undefined, 'csv'],
  ['holdings.CSV', undefined, 'csv'],
  ['holdings.csv.gz', undefined, 'csv'],
  ['holdings.jsonl', undefined, 'jsonl'],
  ['a.b/holdings.ndjson.gz', undefined, 'jsonl'],
  ['holdings.parquet', undefined, 'parquet'],
  ['-', undefined, 'csv'],
  ['-', 'jsonl', 'jsonl'],
  ['holdings.csv', 'jsonl', 'jsonl'],
  ['holdings', 'csv', 'csv'],
] as const)('%s with --format %s is %s', (to, asked, format) => {
  expect(chooseRowFormat(to, asked)).toBe(format);
});

test.each(['', 'holdings', 'holdings.txt', 'csv', 'holdings.gz', 'holdings.csv.zip', 'holdings.xlsx', 'my.csv/'])(
  '%j does not say its format',
  (to) => {
    expect(() => chooseRowFormat(to, undefined)).toThrow(
      /does not say the format\. End the name in \.csv, \.jsonl or \.parquet/,
    );
  },
);

test.each([
  ['extra', 'csv'],
  ['bom', 'csv'],
  ['strictTypes', 'parquet'],
  ['guardFormulas', undefined],
  ['columns', undefined],
  ['toString', undefined],
])('%s is of the format %s', (option, format) => {
  expect(formatOf(option)).toBe(format);
});

test('the library is given what a table declares, by its names, and what is on by default', () => {
  const given = { to: 'a.csv', extra: true, guardFormulas: undefined, mode: 'merge' };
  expect(pickFor(rowFormats.csv.options, given)).toEqual({ extra: true, guardFormulas: true, bom: undefined });
  expect(pickFor(rowFormats.csv.options, { guardFormulas: false })).toEqual({ guardFormulas: false });
});
