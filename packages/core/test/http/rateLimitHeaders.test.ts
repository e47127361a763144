import { describe, expect, test } from 'vitest';
import { rateLimitHeaders } from '../../src/index.js';

const now = Date.UTC(2030, 0, 1);
const epoch = now / 1000;
const { read } = rateLimitHeaders();
const one = (remaining: number, resetIn: number, name = '') => [{ name, remaining, resetIn }];

describe('A4 headers that report a quota', () => {
  test.each<[string, Record<string, string>, unknown]>([
    ['the structured form', { ratelimit: '"default";r=50;t=30' }, one(50, 30_000, 'default')],
    ['its tokens', { ratelimit: 'default;r=50;t=30' }, one(50, 30_000, 'default')],
    [
      'several policies',
      { ratelimit: '"burst";r=5;t=1, "day" ;t=4000; r=900' },
      [...one(5, 1_000, 'burst'), ...one(900, 4_000_000, 'day')],
    ],
    ['a partition key', { ratelimit: '"a";r=1;t=2;pk=:c2VjcmV0:' }, one(1, 2_000, 'a;:c2VjcmV0:')],
    ['a text that looks like a parameter', { ratelimit: '"a";pk=";r=9,\\"";r=1;t=2' }, one(1, 2_000, 'a;";r=9,\\""')],
    ['a window without a reset', { ratelimit: '"a";r=3', 'ratelimit-policy': '"a";q=10;w=60' }, one(3, 60_000, 'a')],
    [
      'policies of something else',
      { ratelimit: '"a";r=3;t=1, "b";r=0;t=9', 'ratelimit-policy': '"a";q=10;w=60, "b";q=9;w=1;qu="content-bytes"' },
      one(3, 1_000, 'a'),
    ],
    ['the older form', { ratelimit: 'limit=100, remaining=50, reset=30' }, one(50, 30_000)],
    ['the older form in capitals', { ratelimit: 'Remaining=50,Reset=30' }, one(50, 30_000)],
    ['single fields of the draft', { 'ratelimit-remaining': '7', 'ratelimit-reset': '30' }, one(7, 30_000)],
    [
      'single fields with a policy',
      { 'ratelimit-remaining': '7', 'ratelimit-limit': '100, 100;w=60', 'ratelimit-policy': '100;w=60' },
      one(7, 60_000),
    ],
    ['seconds', { 'x-ratelimit-remaining': '7', 'x-ratelimit-reset': '30.5' }, one(7, 30_500)],
    ['seconds since 1970', { 'x-ratelimit-remaining': '7', 'x-ratelimit-reset': String(epoch + 30) }, one(7, 30_000)],
    ['ms since 1970', { 'x-ratelimit-remaining': '7', 'x-ratelimit-reset': String(now + 30_500) }, one(7, 30_500)],
    ['a date', { 'x-ratelimit-remaining': '7', 'x-ratelimit-reset': 'Tue, 01 Jan 2030 00:00:30 GMT' }, one(7, 30_000)],
    ['an ISO date', { 'x-ratelimit-remaining': '7', 'x-ratelimit-reset': '2030-01-01T02:00:30+02:00' }, one(7, 30_000)],
    ['another spelling', { 'x-rate-limit-remaining': '7', 'x-rate-limit-reset': '30' }, one(7, 30_000)],
    [
      'a clock that differs from ours',
      {
        'x-ratelimit-remaining': '0',
        'x-ratelimit-reset': String(epoch - 86_400 + 30),
        date: 'Mon, 31 Dec 2029 00:00:00 GMT',
      },
      one(0, 30_000),
    ],
    [
      'a reset that has just passed',
      { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(epoch - 2) },
      one(0, 0),
    ],
    [
      'a resource',
      { 'x-ratelimit-remaining': '7', 'x-ratelimit-reset': '30', 'x-ratelimit-resource': 'search' },
      one(7, 30_000, 'search'),
    ],
    [
      'more left than the limit',
      { 'x-ratelimit-remaining': '70', 'x-ratelimit-limit': '60', 'x-ratelimit-reset': '30' },
      one(60, 30_000),
    ],
    [
      'the structured form before the others',
      { ratelimit: '"a";r=1;t=2', 'x-ratelimit-remaining': '70', 'x-ratelimit-reset': '30' },
      one(1, 2_000, 'a'),
    ],
    ['nothing left, without a reset', { 'x-ratelimit-remaining': '0' }, [{ name: '', remaining: 0 }]],
    ['something left, without a reset', { 'x-ratelimit-remaining': '1' }, []],
    [
      'nothing left, without a reset, in the structured form',
      { ratelimit: '"a";r=0, "b";r=3' },
      [{ name: 'a', remaining: 0 }],
    ],
    [
      'nothing left, without a reset, in the older form',
      { ratelimit: 'limit=9, remaining=0' },
      [{ name: '', remaining: 0 }],
    ],
    [
      'a reset in other headers than the first ones',
      { 'ratelimit-remaining': '0', 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '30' },
      one(0, 30_000),
    ],
    [
      'an invalid structured form, and others',
      { ratelimit: '"a";r=1;t=2, "', 'x-ratelimit-remaining': '70', 'x-ratelimit-reset': '30' },
      one(70, 30_000),
    ],
  ])('%s', (_, headers, quotas) => {
    expect(read(headers, now)).toEqual(quotas);
  });

  const hostile = ['-1', 'NaN', 'Infinity', '1e9', '0x10', '', ' ', '5, 5', '9'.repeat(16), '５', 'null', '1 2', '+5'];
  test.each(hostile)('a remaining of %j is ignored', (remaining) => {
    expect(read({ 'x-ratelimit-remaining': remaining, 'x-ratelimit-reset': '30' }, now)).toEqual([]);
    expect(read({ 'ratelimit-remaining': remaining, 'ratelimit-reset': '30' }, now)).toEqual([]);
    expect(read({ ratelimit: `limit=9, remaining=${remaining}, reset=30` }, now)).toEqual([]);
    expect(read({ ratelimit: `"a";r=${remaining};t=30` }, now)).toEqual([]);
  });

  test.each([
    ...hostile,
    '31700000',
    String(epoch + 32e6),
    '-5',
    String(epoch - 3600),
    '1900-01-01T00:00:00Z',
    '2030-02-30T00:00:00Z',
    'soon',
  ])('a reset of %j is ignored', (reset) => {
    expect(read({ 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': reset }, now)).toEqual([]);
    expect(read({ ratelimit: `"a";r=0;t=${reset}` }, now)).toEqual([]);
  });

  test('a policy or parameter that is repeated is ignored', () => {
    expect(read({ ratelimit: '"a";r=5;t=30, "a";r=9;t=30' }, now)).toEqual([]);
    expect(read({ ratelimit: '"a";r=5;t=30;r=6' }, now)).toEqual([]);
    expect(read({ ratelimit: 'remaining=5, remaining=6, reset=30' }, now)).toEqual([]);
  });

  test('a response from a cache reports nothing', () => {
    expect(read({ ratelimit: '"a";r=5;t=30', age: '12' }, now)).toEqual([]);
    expect(read({ ratelimit: '"a";r=5;t=30', age: '0' }, now)).toEqual(one(5, 30_000, 'a'));
  });

  test('a long header costs little time, whatever it contains', () => {
    for (const part of [';', ' ;', '; ', '"', ',', 'a;', ';a="', '\\"', ' ', 'a', ';pk="\\"'])
      expect(read({ ratelimit: `"a"${part.repeat(400)}`, 'ratelimit-policy': part.repeat(500) }, now)).toEqual([]);
    expect(read({ ratelimit: '"a";r=1;t=1, '.repeat(10_000) }, now)).toEqual([]);
  });

  test('options that make no sense are refused', () => {
    expect(() => rateLimitHeaders({ maxQuotaWait: -1 })).toThrow('maxQuotaWait');
    expect(() => rateLimitHeaders({ concurrency: 0 })).toThrow('concurrency');
  });
});
