import { describe, expect, test } from 'vitest';
import { guardFormula } from '../src/csvFormat.js';

describe('E11 the formula guard', () => {
  test.each([
    '=1+1',
    '=HYPERLINK("http://127.0.0.1/","click me")',
    '=',
    '+SUM(A1)',
    '+1 (555) 010',
    '+',
    '-1+1',
    '-SUM(A1)',
    '-',
    '--1',
    '- 1',
    '-1 ',
    '-1\n',
    '-1,5',
    '-0x10',
    '-Infinity',
    '-.',
    '-e5',
    '-1e',
    '@SUM(1,2)',
    '@',
    '\t=1+1',
    '\t5',
    '\r=1+1',
    '\n=1+1',
    '\n',
    '\0=1+1',
    '\0',
    '＝1＋1',
    '＋1',
    '－1',
    '＠SUM(1,2)',
  ])('puts an apostrophe before %j', (text) => {
    expect(guardFormula(text)).toBe(`'${text}`);
  });

  test.each([
    '',
    '1',
    '-1',
    '+5',
    '-1.5e3',
    '+1.5E-3',
    '-.5',
    '-1.',
    '+007',
    '-123456789012345678901234567890',
    'a=1',
    ' =1',
    "'=1",
    '"=1"',
    '1+1',
    '1-1',
    'me@home',
    'x\t=1',
    '{"=1":"=1"}',
    'ａ＝１',
    '−1',
    '\ufeff=1',
  ])('leaves %j as it is', (text) => {
    expect(guardFormula(text)).toBe(text);
  });

  test('is done with a million digits that turn out to be no number', () => {
    const text = `-${'1'.repeat(1_000_000)}x`;
    expect(guardFormula(text)).toBe(`'${text}`);
  });
});
