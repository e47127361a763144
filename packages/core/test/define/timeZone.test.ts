import { describe, expect, test } from 'vitest';
import { ConfigError } from '../../src/index.js';
import { bySince, type SinceOptions } from '../../src/define/index.js';
import { parseTime, printTime } from '../../src/define/since/timeFormat.js';
import { timeZone } from '../../src/define/since/timeZone.js';

/** The local times of an instant, and the instants of a local time: for `from` and for `to`. */
function converted(zone: string | undefined, text: string): string[] {
  const isLocal = !text.endsWith('Z');
  const [own, other] = isLocal ? (['datetime', 'instant'] as const) : (['instant', 'datetime'] as const);
  const time = parseTime(own, text)!;
  return (['from', 'to'] as const).map((bound) =>
    printTime(other, timeZone(zone).convert(time, { from: own, to: other }, bound), bound),
  );
}

describe('R7 the zone of times without one', () => {
  test.each<[string | undefined, string, string, string]>([
    ['-07:00', '2026-01-31T08:30:00Z', '2026-01-31T01:30:00', '2026-01-31T01:30:00'],
    ['-07:00', '2026-01-31T08:30:00', '2026-01-31T15:30:00Z', '2026-01-31T15:30:00Z'],
    ['+05:45', '2026-01-31T22:00:00Z', '2026-02-01T03:45:00', '2026-02-01T03:45:00'],
    ['UTC', '2026-01-31T08:30:00Z', '2026-01-31T08:30:00', '2026-01-31T08:30:00'],
    ['America/Denver', '2026-01-31T08:30:00Z', '2026-01-31T01:30:00', '2026-01-31T01:30:00'],
    ['America/Denver', '2026-07-31T08:30:00Z', '2026-07-31T02:30:00', '2026-07-31T02:30:00'],
    ['Asia/Kathmandu', '2026-07-31T08:30:00', '2026-07-31T02:45:00Z', '2026-07-31T02:45:00Z'],
    [undefined, '2026-01-31T08:30:00Z', '2026-01-30T20:30:00', '2026-01-31T22:30:00'],
    [undefined, '2026-01-31T08:30:00', '2026-01-30T18:30:00Z', '2026-01-31T20:30:00Z'],
  ])('%s: %s is from %s to %s', (zone, text, from, to) => {
    expect(converted(zone, text)).toEqual([from, to]);
  });

  test('is that of either offset on the days around a change of the clocks, where an hour may come twice', () => {
    // In Denver, 01:30 was at 07:30Z and at 08:30Z.
    for (const instant of ['2026-11-01T07:30:00Z', '2026-11-01T08:30:00Z']) {
      const [from, to] = converted('America/Denver', instant);
      const wall = instant.slice(11, 13) === '07' ? 7 : 8;
      expect(from).toBe(`2026-11-01T0${String(wall - 7)}:30:00`);
      expect(to).toBe(`2026-11-01T0${String(wall - 6)}:30:00`);
    }
    expect(converted('America/Denver', '2026-11-01T01:30:00')).toEqual([
      '2026-11-01T07:30:00Z',
      '2026-11-01T08:30:00Z',
    ]);
  });

  const options = { param: 'since', field: 'at', type: 'datetime' } as const satisfies SinceOptions;

  test.each(['-7', '-13:00', '+14:30', '+05:60', 'Denver', 'America/Denwer', ''])(
    'is refused where there is none: %j',
    (zone) => {
      const define = (): unknown => bySince({ ...options, zone });
      expect(define).toThrow(ConfigError);
      expect(define).toThrow('it must be an offset from -12:00 to +14:00, e.g. -07:00, or the name of a time zone');
    },
  );

  test('is refused where neither rows nor requests have times without one', () => {
    for (const given of [{ type: 'instant' }, { type: 'epoch-ms', write: '{instant}' }, { type: 'integer' }] as const)
      expect(() => bySince({ ...options, ...given, zone: 'UTC' })).toThrow(
        'zone of bySince is for times without a zone',
      );
    for (const given of [
      {},
      { type: 'date' },
      { type: 'instant', write: '{minute}' },
      { write: '{epoch-ms}' },
    ] as const)
      expect(() => bySince({ ...options, ...given, zone: 'UTC' })).not.toThrow();
  });

  test('makes another plan, as the requests are others', () => {
    const identityOf = (zone?: string): unknown =>
      bySince({ ...options, ...(zone !== undefined && { zone }) }).identity;
    expect(identityOf('-07:00')).not.toEqual(identityOf());
  });
});
