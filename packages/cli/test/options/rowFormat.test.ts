import { expect, test } from 'vitest';
import { chooseRowFormat } from '../../src/options/targetOptions.js';

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
