import { describe, expect, test } from 'vitest';
import { ConfigError } from '../../src/index.js';
import { byOffset, bySince, listing, type SinceOptions } from '../../src/define/index.js';
import { openListing, serve } from './servedApi.js';

const options = {
  param: 'from',
  field: 'at',
  type: 'instant',
  begin: '2026-01-01',
  overlap: 0,
  windows: { to: 'to', step: '2d' },
} as const satisfies SinceOptions;

/** The windows from a value on, as `from to`; an open one has a `+`. */
function listed(given: object, from: string, moment: string): string[] {
  const { increment } = bySince({ ...options, ...given } as SinceOptions);
  const windows = increment?.windows?.(increment.read(from) ?? from, Date.parse(moment)) ?? [];
  return windows.map(({ from: first, to, isOpen }) => `${first} ${to}${isOpen ? ' +' : ''}`);
}

describe('R7 the windows of bySince', () => {
  test('R7 are of one step, and the last one is open, with half a step left at least', () => {
    const dates = { type: 'date', zone: 'UTC' };
    expect(listed(dates, '2026-01-01', '2026-01-05T18:00:00Z')).toEqual([
      '2026-01-01 2026-01-03',
      '2026-01-03 2026-01-05',
      '2026-01-05 2026-01-07 +',
    ]);
    expect(listed(dates, '2026-01-01', '2026-01-06T18:00:00Z')).toEqual([
      '2026-01-01 2026-01-03',
      '2026-01-03 2026-01-05',
      '2026-01-05 2026-01-06',
      '2026-01-06 2026-01-08 +',
    ]);
    expect(listed({}, '2026-01-01T10:00:00.123456Z', '2026-01-04T00:00:00Z')).toEqual([
      '2026-01-01T10:00:00.123456Z 2026-01-03T10:00:00Z',
      '2026-01-03T10:00:00Z 2026-01-05T10:00:00Z +',
    ]);
  });

  test('R7 are one where they begin after the moment, and end before it by the overlap', () => {
    expect(listed({}, '2026-01-09T00:00:00Z', '2026-01-04T00:00:00Z')).toEqual([
      '2026-01-09T00:00:00Z 2026-01-11T00:00:00Z +',
    ]);
    expect(listed({ overlap: 60_000 }, '2026-01-01T00:00:00Z', '2026-01-03T00:00:30Z')).toEqual([
      '2026-01-01T00:00:00Z 2026-01-02T23:59:30Z',
      '2026-01-02T23:59:30Z 2026-01-04T23:59:30Z +',
    ]);
  });

  test.each<[string, object, string[]]>([
    [
      'longer than a window',
      { overlap: 3 * 86_400_000, windows: { to: 'to', step: '1d' } },
      ['2026-01-10T00:00:00Z 2026-01-10T06:00:00Z', '2026-01-10T06:00:00Z 2026-01-11T06:00:00Z +'],
    ],
    [
      'of three quarters of a window',
      { overlap: 3 * 3_600_000, windows: { to: 'to', step: '4h' } },
      ['2026-01-10T12:00:00Z 2026-01-10T16:00:00Z', '2026-01-10T16:00:00Z 2026-01-10T20:00:00Z +'],
    ],
    [
      'longer than a window of dates',
      { type: 'date', zone: 'UTC', overlap: 3 * 86_400_000, windows: { to: 'to', step: '1d' } },
      ['2026-01-10 2026-01-11', '2026-01-11 2026-01-12 +'],
    ],
    [
      'longer than a window of numbers',
      { type: 'epoch-seconds', overlap: 86_400_000, windows: { to: 'to', step: '1h' } },
      ['1768064400 1768066200', '1768066200 1768069800 +'],
    ],
  ])('R7 end half a step after the moment where the overlap is %s', (_, given, last) => {
    const windows = listed(given, '2026-01-01', '2026-01-10T18:00:00Z');
    expect(windows.slice(-2)).toEqual(last);
    // Without a gap.
    const ends = windows.map((each) => each.split(' '));
    expect(ends.slice(1).map(([from]) => from)).toEqual(ends.slice(0, -1).map(([, to]) => to));
  });

  test.each<[string, object, string[]]>([
    [
      'dates',
      { type: 'date', windows: { to: 'to', step: '1d' } },
      ['2026-01-09 2026-01-10', '2026-01-10 2026-01-11', '2026-01-11 2026-01-12 +'],
    ],
    [
      'times',
      { type: 'datetime', windows: { to: 'to', step: '1d' } },
      [
        '2026-01-09T00:00:00 2026-01-10T00:00:00',
        '2026-01-10T00:00:00 2026-01-11T00:00:00',
        '2026-01-11T00:00:00 2026-01-12T00:00:00 +',
      ],
    ],
    [
      'times in long windows',
      { type: 'datetime', windows: { to: 'to', step: '30d' } },
      ['2026-01-01T00:00:00 2026-01-31T00:00:00 +'],
    ],
  ])('R7 of local %s end half a step after the moment in any zone', (_, given, last) => {
    expect(listed(given, '2026-01-01', '2026-01-10T18:00:00Z').slice(-3)).toEqual(last);
  });

  test.each([
    ['30d', 28],
    ['5d', 3],
    ['4d', 2],
    ['2d', 2],
  ])(
    'R7 of %s in dates of an unknown zone are of %i days, so that a request asks for no more, if that is possible',
    (step, days) => {
      const [, second, third] = listed(
        { write: '{date}', windows: { to: 'to', step } },
        '2025-06-01',
        '2026-01-10T18:00:00Z',
      );
      const [start] = second?.split(' ') ?? [];
      const [next] = third?.split(' ') ?? [];
      expect((Date.parse(next!) - Date.parse(start!)) / 86_400_000).toBe(days);
    },
  );

  test.each([
    ['10s', '2026-01-01T00:00:10Z'],
    ['15m', '2026-01-01T00:15:00Z'],
    ['12h', '2026-01-01T12:00:00Z'],
    ['30d', '2026-01-31T00:00:00Z'],
    [90_000, '2026-01-01T00:01:30Z'],
  ])('R7 of %s end there', (step, end) => {
    expect(listed({ windows: { to: 'to', step } }, '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z')).toEqual([
      `2026-01-01T00:00:00Z ${end} +`,
    ]);
  });

  test.each<[string, object]>([
    ['from 1767225600 to 1767398400', { type: 'epoch-seconds' }],
    ['from 2026-01-01 to 2026-01-03', { write: '{date}', zone: 'UTC' }],
    ['from 2025-12-31 to 2026-01-04', { write: '{date}' }],
    ['from 2025-12-31 to 2026-01-02', { write: '{date}', zone: '-07:00' }],
    ['from 2026-01-01 to 2026-01-03', { write: '{date}', zone: 'Asia/Tokyo' }],
    ['from 2025-12-31T12:00:00 to 2026-01-03T14:00:00', { write: '{datetime}' }],
    ['from 2026-01-01T05:45:00 to 2026-01-03T05:45:00', { write: '{datetime}', zone: 'Asia/Kathmandu' }],
    [
      'from 2025-12-31 to 2026-01-04',
      { write: (_: string, bound: string) => (bound === 'from' ? '2025-12-31' : '2026-01-04') },
    ],
  ])('R7 are sent %s', { tags: ['slow'] }, async (wanted, given) => {
    const server = await serve(() => ({ body: [] }));
    const items = listing({
      path: '/items',
      rows: '',
      columns: ['at'],
      pageSize: { param: 'n', default: 5, max: 5 },
      paging: bySince({ ...options, ...given } as SinceOptions),
      version: '1',
    });
    await openListing(items, server)().toArray();
    const query = new URL(server.asked[0]!, server.baseUrl).searchParams;
    expect(`from ${query.get('from')!} to ${query.get('to')!}`).toBe(wanted);
  });

  test.each<[string, object, object]>([
    [
      'a place in the body',
      { into: 'filters[0].value', windows: { to: 'filters[1].value', step: '2d' } },
      {
        filters: [{ value: '2026-01-01T00:00:00Z' }, { value: '2026-01-03T00:00:00Z' }],
      },
    ],
    [
      'one text',
      { into: 'q', write: 'at >= {date} AND at < {to:date} ORDER BY at', zone: 'UTC', windows: { step: '2d' } },
      {
        q: 'at >= 2026-01-01 AND at < 2026-01-03 ORDER BY at',
      },
    ],
  ])('R7 are sent in %s', { tags: ['slow'] }, async (_, given, body) => {
    const server = await serve(() => ({ body: [] }));
    const items = listing({
      path: '/items',
      method: 'POST',
      rows: '',
      columns: ['at'],
      pageSize: { param: 'n', default: 5, max: 5 },
      paging: bySince({ ...options, param: undefined, ...given } as unknown as SinceOptions),
    });
    await openListing(items, server)().toArray();
    expect(server.requests[0]?.body).toEqual(body);
  });

  test.each<[string, object, string]>([
    ['no beginning', { begin: undefined }, 'needs begin'],
    ['values that are no times', { type: 'integer', begin: '5' }, 'takes no windows for values of type integer'],
    ['no place', { param: undefined, order: 'any', paging: byOffset({ param: 'o' }) }, 'needs a place for windows'],
    ['no end', { windows: { step: '1d' } }, 'is sent in one place'],
    ['two ends', { write: '{date}..{to:date}' }, 'is sent in one place'],
    ['an end without windows', { windows: undefined, write: '{date}..{to:date}' }, 'give windows'],
    ['only an end', { write: '{to:date}', windows: { step: '1d' } }, 'has no format in braces'],
    ['no step', { windows: { to: 'to' } }, 'windows of bySince() is invalid at step'],
    ['a step of nothing', { windows: { to: 'to', step: '0d' } }, 'step of windows is "0d"'],
    ['a step of nothing', { windows: { to: 'to', step: 0 } }, 'step is 0'],
    ['a month', { windows: { to: 'to', step: '1M' } }, 'write a number with its unit, e.g. 30d'],
    ['half a day of dates', { type: 'date', windows: { to: 'to', step: '12h' } }, 'it must be whole days'],
    ['half a second', { windows: { to: 'to', step: 1_500 } }, 'it must be whole seconds'],
    ['an unknown option', { windows: { too: 'to', step: '1d' } }, 'has no option "too". Did you mean to?'],
  ])('R7 with %s are refused', (_, given, message) => {
    const define = (): unknown => bySince({ ...options, ...given } as unknown as SinceOptions);
    expect(define).toThrow(ConfigError);
    expect(define).toThrow(message);
  });

  test('R7 set nothing that the definition sets, and are not more than anybody wants', { tags: ['slow'] }, () => {
    expect(() =>
      listing({
        path: '/items',
        query: { to: 'now' },
        rows: '',
        columns: ['at'],
        pageSize: { param: 'n', default: 5, max: 5 },
        paging: bySince(options),
      }),
    ).toThrow('the parameter "to" is set twice');
    expect(() => listed({ windows: { to: 'to', step: '1s' } }, '2020-01-01', '2026-01-01')).toThrow(
      'would be more than 100000',
    );
  });
});
