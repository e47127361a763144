import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { doubt, learn, quotaStart, spend, type KnownQuota } from '../../src/quota/quotaPace.js';

const at = (remaining: number, resetIn: number, arrivedAt = 0, known?: KnownQuota, sentAt = arrivedAt) =>
  learn(known, { remaining, resetIn, sentAt, arrivedAt, isRefused: false });
const pace = { inFlight: 0, isProbed: false, lastStart: 0, now: 0, maxWait: 3_900_000 };

describe('A4 when the next request may start', () => {
  test.each<[string, KnownQuota | undefined, Partial<typeof pace>, number]>([
    ['at once if nothing is known', undefined, {}, 0],
    ['after the probe if nothing is known', undefined, { isProbed: true }, Infinity],
    ['at once after a report', at(60, 60_000), { lastStart: -Infinity, now: 5 }, 5],
    ['spread until the reset', at(120, 60_000), {}, 500],
    ['spread until a second after the reset', at(9, 60_000), {}, 6_100],
    ['less what is in flight', at(120, 60_000), { inFlight: 60 }, 1_000],
    ['a second after the reset if all is in flight', at(8, 60_000), { inFlight: 8 }, 61_000],
    ['a second after the reset if nothing is left', at(0, 60_000), {}, 61_000],
    ['a probe, a second after the reset', at(0, 60_000), { now: 61_000 }, 61_000],
    ['after the probe', at(0, 60_000), { now: 61_000, isProbed: true }, Infinity],
    ['at once if the pace is behind', at(120, 60_000), { now: 700 }, 700],
    ['not spread if the reset is too far away', at(5, 86_400_000), {}, 0],
    ['a probe after a refusal with something left', doubt(undefined, 7), { now: 9 }, 9],
    ['less what ended without a report', spend(at(61, 30_000)), {}, 500],
  ])('%s', (_, known, given, start) => {
    expect(quotaStart(known, { ...pace, ...given })).toBe(start);
  });

  test('never more than is left before the reset, however long the responses take', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 300 }),
        fc.integer({ min: 0, max: 120_000 }),
        fc.array(fc.integer({ min: 0, max: 5_000 }), { maxLength: 400 }),
        (remaining, resetIn, delays) => {
          const known = at(remaining, resetIn);
          let now = 0;
          let lastStart = -Infinity;
          let started = 0;
          for (const delay of delays) {
            now = Math.max(now + delay, quotaStart(known, { ...pace, inFlight: started, lastStart, now: now + delay }));
            if (now >= known.staleAt) break;
            [lastStart, started] = [now, started + 1];
          }
          expect(started).toBeLessThanOrEqual(remaining);
        },
      ),
    );
  });

  test('what is left is used by the second after the reset, if somebody always waits', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 1_000, max: 120_000 }), (remaining, resetIn) => {
        const known = at(remaining, resetIn);
        let now = 0;
        let started = 0;
        for (;;) {
          now = quotaStart(known, { ...pace, inFlight: started, lastStart: now, now });
          if (now >= known.staleAt) break;
          started += 1;
        }
        expect(started).toBe(remaining);
      }),
    );
  });
});

describe('A4 what is known after a report', () => {
  test('responses that overtake each other leave what the last counted request left', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.integer({ min: 0, max: 900 }), fc.integer({ min: 0, max: 900 })), {
          minLength: 1,
          maxLength: 30,
        }),
        fc.integer({ min: 30, max: 100 }),
        (delays, requests) => {
          // Sent 10 ms apart, counted in the order of arrival, each response with a delay of its own.
          const sent = delays.map(([there, back], nth) => ({ sentAt: nth * 10, countedAt: nth * 10 + there, back }));
          const counted = sent.toSorted((a, b) => a.countedAt - b.countedAt);
          const answers = counted
            .map(({ sentAt, countedAt, back }, nth) => ({
              sentAt,
              arrivedAt: countedAt + back,
              left: requests - nth - 1,
            }))
            .toSorted((a, b) => a.arrivedAt - b.arrivedAt);
          let known: KnownQuota | undefined;
          for (const [nth, { sentAt, arrivedAt, left }] of answers.entries()) {
            known = at(left, 60_000 - arrivedAt, arrivedAt, known, sentAt);
            const inFlight = answers.slice(nth + 1).filter((other) => other.sentAt < arrivedAt).length;
            const arrived = answers.length - nth - 1 - inFlight;
            // What is left at the server once all that were sent by now have arrived there.
            expect(known.remaining - inFlight).toBeLessThanOrEqual(requests - answers.length + arrived);
          }
          expect(known?.remaining).toBe(requests - answers.length);
        },
      ),
    );
  });

  test('a renewed quota counts at once, and a response from before it no more', () => {
    const full = at(0, 1_000);
    const renewed = at(99, 60_000, 1_500, full, 1_200);
    expect(renewed.remaining).toBe(99);
    expect(at(3, 0, 1_600, renewed, 900)).toEqual(renewed);
  });

  test('rounding does not move the reset', () => {
    let known = at(50, 10_000, 100);
    for (let now = 200; now < 9_000; now += 130) known = at(50, Math.ceil((10_000 - now) / 1000) * 1000, now, known);
    expect(known.resetAt).toBeGreaterThanOrEqual(10_000);
    expect(known.resetAt).toBeLessThanOrEqual(10_130);
  });

  test('nothing that was sent before a refusal weakens it', () => {
    const refused = learn(undefined, { remaining: 0, resetIn: 60_000, sentAt: 0, arrivedAt: 100, isRefused: true });
    expect(at(40, 90_000, 150, refused, 50)).toEqual(refused);
    expect(at(40, 60_000, 250, refused, 100).remaining).toBe(40);
  });
});
