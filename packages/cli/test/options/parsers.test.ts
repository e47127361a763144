import { describe, expect, test } from 'vitest';
import { UsageError } from '../../src/errors/errors.js';
import {
  parseDuration,
  parseLatency,
  parseList,
  parseNumber,
  parseRate,
  parseShares,
  parseSpan,
} from '../../src/options/option.js';

describe('a duration', () => {
  test.each([
    ['300ms', 300],
    ['30s', 30_000],
    ['5m', 300_000],
    ['1h', 3_600_000],
    ['1.5s', 1500],
    [' 0ms ', 0],
  ])('%j is %i ms', (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });

  test.each(['', '30', 's', '5 s', '-1s', '1e3ms', '5min', '.5s', '1w', '30S'])('%j is none', (text) => {
    expect(() => parseDuration(text)).toThrow(new UsageError('Give a number with its unit: 300ms, 30s, 5m, 1h or 1d.'));
  });

  test('of zero is no deadline', () => {
    expect(() => parseSpan('0s')).toThrow('longer than zero');
    expect(parseSpan('1ms')).toBe(1);
  });
});

describe('a rate', () => {
  test.each([
    ['25/s', { requests: 25, per: 1000 }],
    ['100/m', { requests: 100, per: 60_000 }],
    ['3600/h', { requests: 3600, per: 3_600_000 }],
    ['40000/d', { requests: 40_000, per: 86_400_000 }],
    ['unlimited', false],
  ])('%j can be given', (text, rate) => {
    expect(parseRate(text)).toEqual(rate);
  });

  test.each(['', '25', '0/s', '-1/s', '0.5/s', '25/w', '25 / s', '25/10s', 'Unlimited', '1e3/s'])(
    '%j is refused',
    (text) => {
      expect(() => parseRate(text)).toThrow(UsageError);
    },
  );
});

describe('a number', () => {
  test.each([
    ['100', 100],
    ['-1', -1],
    ['1.5', 1.5],
    [' 7 ', 7],
  ])('%j is read, whether it makes sense or not', (text, value) => {
    expect(parseNumber(text)).toBe(value);
  });

  test.each(['', ' ', 'abc', '1e3', '0x10', '1,000', 'NaN', 'Infinity', '1.', '--1'])('%j is none', (text) => {
    expect(() => parseNumber(text)).toThrow(UsageError);
  });
});

describe('a list', () => {
  test.each([
    ['name', ['name']],
    ['name, amount', ['name', 'amount']],
  ])('%j is read', (text, items) => {
    expect(parseList(text)).toEqual(items);
  });

  test.each(['', ',', 'a,', 'a,,b'])('%j has an empty item', (text) => {
    expect(() => parseList(text)).toThrow(UsageError);
  });
});

describe('a latency', () => {
  test.each([
    ['25ms', 25],
    ['0ms', 0],
    ['5ms..40ms', [5, 40]],
    ['1s..1s', [1000, 1000]],
  ])('%j is read', (text, latency) => {
    expect(parseLatency(text)).toEqual(latency);
  });

  test.each(['', '..', '5..40', '40ms..5ms', '1ms..2ms..3ms', '5ms..'])('%j is refused', (text) => {
    expect(() => parseLatency(text)).toThrow(UsageError);
  });
});

describe('shares', () => {
  test.each([
    ['serverError=0.05', { serverError: 0.05 }],
    ['serverError=0.05,reset=.01', { serverError: 0.05, reset: 0.01 }],
    ['never=1', { never: 1 }],
  ])('%j are read', (text, shares) => {
    expect(parseShares(text)).toEqual(shares);
  });

  test.each(['', 'reset', 'reset=', '=0.1', 'reset=2', 'reset=1.5', 'reset=-0.1', 'reset=5%', 'a=0.1;b=0.1'])(
    '%j are refused',
    (text) => {
      expect(() => parseShares(text)).toThrow(UsageError);
    },
  );
});
