import { describe, expect, test } from 'vitest';
import { rateLimitHeaders } from '../../src/define/index.js';

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
    ['decimals', { 'x-ratelimit-remaining': '7.0', 'x-ratelimit-reset': '30' }, one(7, 30_000)],
    ['less than a request', { 'x-ratelimit-remaining': '0.5', 'x-ratelimit-reset': '30' }, one(0, 30_000)],
    ...['30s', '0m30s', '0h0m30.0s', '30000ms', '29s1000ms'].map((reset): [string, Record<string, string>, unknown] => [
      `a duration of ${reset}`,
      { 'x-ratelimit-remaining': '7', 'x-ratelimit-reset': reset },
      one(7, 30_000),
    ]),
    [
      "OpenAI's, of requests and not of tokens",
      {
        'x-ratelimit-limit-requests': '60',
        'x-ratelimit-remaining-requests': '59',
        'x-ratelimit-reset-requests': '6m0s',
        'x-ratelimit-remaining-tokens': '0',
        'x-ratelimit-reset-tokens': '1d2h',
      },
      one(59, 360_000, 'requests'),
    ],
    [
      "Anthropic's",
      {
        'anthropic-ratelimit-requests-limit': '50',
        'anthropic-ratelimit-requests-remaining': '49',
        'anthropic-ratelimit-requests-reset': '2030-01-01T00:00:30Z',
        'anthropic-ratelimit-input-tokens-remaining': '0',
        'anthropic-ratelimit-input-tokens-reset': '2030-01-01T00:00:30Z',
      },
      one(49, 30_000, 'requests'),
    ],
    [
      "Discord's, of a bucket",
      {
        'x-ratelimit-remaining': '4',
        'x-ratelimit-reset': String(epoch + 60.25),
        'x-ratelimit-reset-after': '0.064',
        'x-ratelimit-bucket': 'abcd1234',
      },
      one(4, 64, 'abcd1234'),
    ],
    [
      "Kong's, of windows",
      {
        'x-ratelimit-limit-second': '5',
        'x-ratelimit-remaining-second': '4',
        'x-ratelimit-limit-hour': '1000',
        'x-ratelimit-remaining-hour': '990',
      },
      [...one(4, 1_000, 'second'), ...one(990, 3_600_000, 'hour')],
    ],
    [
      "HubSpot's",
      {
        'x-hubspot-ratelimit-max': '100',
        'x-hubspot-ratelimit-remaining': '98',
        'x-hubspot-ratelimit-interval-milliseconds': '10000',
        'x-hubspot-ratelimit-daily': '250000',
        'x-hubspot-ratelimit-daily-remaining': '249000',
      },
      [...one(98, 10_000), ...one(249_000, 86_400_000, 'daily')],
    ],
    [
      "Atlassian's date, without seconds",
      { 'x-ratelimit-remaining': '7', 'x-ratelimit-reset': '2030-01-01T00:01Z' },
      one(7, 60_000),
    ],
    [
      "Reddit's, of two servers behind each other",
      { 'x-ratelimit-remaining': '990.0, 4.0', 'x-ratelimit-reset': '600, 30' },
      one(4, 30_000),
    ],
    [
      'a quota of something else than requests',
      { 'x-ratelimit-remaining-tokens': '0', 'x-ratelimit-reset-tokens': '30' },
      [],
    ],
    [
      'an invalid structured form, and others',
      { ratelimit: '"a";r=1;t=2, "', 'x-ratelimit-remaining': '70', 'x-ratelimit-reset': '30' },
      one(70, 30_000),
    ],
  ])('%s', (_, headers, quotas) => {
    expect(read(headers, now)).toEqual(quotas);
  });

  const hostile = [
    '5.',
    '.5',
    '-1',
    'NaN',
    'Infinity',
    '1e9',
    '0x10',
    '',
    ' ',
    '5, 5',
    '9'.repeat(16),
    '５',
    'null',
    '1 2',
    '+5',
  ];
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
    '5 s',
    '6m0',
    's',
    '1y',
    '1.2.3s',
    '400d',
    '1s'.repeat(6),
    '2030-01-01T00:01',
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
    expect(read({ [`${'a-'.repeat(20_000)}ratelimit`]: '1' }, now)).toEqual([]);
    for (const reset of ['1', '1s', '9'.repeat(9)])
      expect(read({ 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': reset.repeat(10_000) }, now)).toEqual([]);
  });

  test('options that make no sense are refused', () => {
    expect(() => rateLimitHeaders({ maxQuotaWait: -1 })).toThrow('maxQuotaWait');
    expect(() => rateLimitHeaders({ concurrency: 0 })).toThrow('concurrency');
  });
});
