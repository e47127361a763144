import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { quoteForShell, visibleText } from '../../src/terminal/text.js';

test.each([
  ['holdings.csv', 'holdings.csv'],
  ['--owner=0x1', '--owner=0x1'],
  ['', "''"],
  ['my rows.csv', "'my rows.csv'"],
  ["Zoë's", String.raw`'Zoë'\''s'`],
  ['$HOME `x` "y" \\ !', '\'$HOME `x` "y" \\ !\''],
  ['~/a*', "'~/a*'"],
  ['two\nlines', String.raw`"$(printf 'two\012lines')"`],
])('%j is written %s', (word, quoted) => {
  expect(quoteForShell(word)).toBe(quoted);
});

test('any word is read back by a shell, and does nothing to a terminal', () => {
  const words = [
    'a b',
    "'",
    '"',
    '\\',
    '%s',
    '$(exit 1)',
    '-n',
    '🦊',
    'left \u202eright',
    '\u001b[2J',
    '\t%\\\'"',
    '\n\nx',
  ];
  const quoted = words.map(quoteForShell).join(' ');
  expect(visibleText(quoted)).toBe(quoted);
  const read = execFileSync('sh', ['-c', `for word in ${quoted}; do printf '%s\\0' "$word"; done`]).toString();
  expect(read.split('\0').slice(0, -1)).toEqual(words);
});
