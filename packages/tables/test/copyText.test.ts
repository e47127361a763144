import { expect, test } from 'vitest';
import { copyChunks, copyLine } from '../src/postgres/copyText.js';

test('A row is a line of COPY, in which only tabs, line ends and backslashes are escaped', () => {
  expect(copyLine(['a\tb\r\n\\N', null, 1n, 2, ''])).toBe('a\\tb\\r\\n\\\\N\t\\N\t1\t2\t\n');
});

test('The chunks of a COPY have all rows in order, also of rows that are larger than a chunk', () => {
  const rows = ['x', 'é'.repeat(300_000), '漢'.repeat(90_000), 'y', 'z'.repeat(262_144), ''].map((text) => [text]);
  expect(Buffer.concat([...copyChunks(rows)]).toString()).toBe(rows.map(copyLine).join(''));
});
