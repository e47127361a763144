import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isRetriedStatus } from '../../src/retriedStatuses.js';
import { dateAfter, retryAfter } from '../../src/http/response/retryAfter.js';
import { backoff, defaultRetry } from '../../src/http/retry/retryOptions.js';

test('T6 every 5xx but 501 and 505 is retried, and 408, 425 and 429', () => {
  const retried = Array.from({ length: 500 }, (_, at) => 100 + at).filter(isRetriedStatus);
  const serverErrors = Array.from({ length: 100 }, (_, at) => 500 + at).filter(
    (status) => status !== 501 && status !== 505,
  );
  expect(retried).toEqual([408, 425, 429, ...serverErrors]);
});

describe('a back-off', () => {
  test.each([
    [1, 250],
    [2, 500],
    [3, 1_000],
    [7, 16_000],
    [8, 20_000],
    [9, 20_000],
    [1_000_000, 20_000],
  ])('T6 after attempt %i lies between 0 and %i ms', (attempt, bound) => {
    expect(backoff(attempt, defaultRetry, 0)).toBe(0);
    expect(backoff(attempt, defaultRetry, 0.5)).toBe(bound / 2);
    expect(backoff(attempt, defaultRetry, 1 - Number.EPSILON)).toBe(bound - 1);
  });

  test('T6 is a whole number of ms within its bounds, whatever the options', () => {
    const ms = fc.oneof(fc.nat(1e9), fc.constant(Infinity));
    const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 5_000 }),
        fc.nat(1e9),
        ms,
        random,
        (attempt, baseDelay, maxDelay, share) => {
          const delay = backoff(attempt, { baseDelay, maxDelay }, share);
          expect(Number.isInteger(delay)).toBe(true);
          expect(delay).toBeGreaterThanOrEqual(0);
          expect(delay).toBeLessThanOrEqual(maxDelay);
        },
      ),
    );
  });
});

describe('Retry-After', () => {
  const now = Date.UTC(2030, 0, 2, 10, 0, 0);
  const answered = 'Wed, 02 Jan 2030 12:00:00 GMT';

  test.each([
    ['seconds', '7', 7_000],
    ['blanks around', ' 7 ', 7_000],
    ['decimals', '1.5', 1_500],
    ['none', '0', 0],
    ['many', '1000000000', 1e12],
    ['more than there are', '9'.repeat(400), Infinity],
    ['a date', 'Wed, 02 Jan 2030 12:00:30 GMT', 30_000],
    ['a date in the form of RFC 850', 'Wednesday, 02-Jan-30 12:00:30 GMT', 30_000],
    ["a date in C's form", 'Wed Jan  2 12:00:30 2030', 30_000],
    ['the same moment', answered, 0],
    ['less than a second', '0.5', 500],
    ['less than a ms', '0.0004', 0.4],
    ['an epoch in seconds', String(Date.UTC(2030, 0, 2, 12, 0, 30) / 1000), 30_000],
    ['an epoch in seconds with decimals', `${Date.UTC(2030, 0, 2, 12, 0, 30) / 1000}.5`, 30_500],
    ['an epoch in ms', String(Date.UTC(2030, 0, 2, 12, 0, 30)), 30_000],
    ['an epoch in µs', `${Date.UTC(2030, 0, 2, 12, 0, 30)}000`, 30_000],
    ['an epoch in ns', `${Date.UTC(2030, 0, 2, 12, 0, 30)}000000`, 30_000],
    ['seconds with a unit', '7s', 7_000],
    ['ms', '1500ms', 1_500],
    ['a duration', '1m30.5s', 90_500],
    ['words', '2 seconds', 2_000],
    ['more words', '1 Minute 5 secs', 65_000],
    ['a duration of ISO 8601', 'PT2S', 2_000],
    ['a longer duration of ISO 8601', 'P1DT2H', 93_600_000],
    ['an ISO date', '2030-01-02T12:00:30Z', 30_000],
    ['an ISO date with a zone', '2030-01-02T13:00:30.250+01:00', 30_250],
    ['two values', '7, 8', 8_000],
    ['values of several kinds', '9, Wed, 02 Jan 2030 12:00:30 GMT, 7s', 30_000],
    ['a wait and a moment that has passed', '7, Wed, 02 Jan 2030 11:00:30 GMT', 7_000],
  ])('T6 as %s', (_form, header, expected) => {
    expect(retryAfter(header, answered, now)).toBe(expected);
  });

  test.each([
    ['30', 30_000],
    // Fifty years ahead is still ahead.
    ['80', Date.UTC(2080, 0, 2, 12, 0, 30) - Date.UTC(2030, 0, 2, 12, 0, 0)],
    // RFC 9110, section 5.6.7: more than 50 years ahead means the past.
    ['81', undefined],
    ['99', undefined],
    ['00', undefined],
    ['29', undefined],
  ])('T6 as a date of RFC 850 in the year %s', (year, expected) => {
    expect(retryAfter(`Wednesday, 02-Jan-${year} 12:00:30 GMT`, answered, now)).toBe(expected);
  });

  test.each([
    [2049, '99', 50],
    [2048, '99', undefined],
    [2099, '99', 0],
    [2101, '01', 0],
  ])('T6 as a date of RFC 850, read in %i in the year %s', (thisYear, year, ahead) => {
    const today = Date.UTC(thisYear, 0, 2, 12, 0, 0);
    const expected = ahead === undefined ? undefined : Date.UTC(thisYear + ahead, 0, 2, 12, 0, 0) - today;
    expect(retryAfter(`Wednesday, 02-Jan-${year} 12:00:00 GMT`, undefined, today)).toBe(expected);
  });

  test.each([
    ['absent', undefined],
    ['empty', ''],
    ['a word', 'soon'],
    ['negative', '-7'],
    ['negative with decimals', '-0.5'],
    ['with a sign', '+7'],
    ['with an exponent', '1e3'],
    ['hexadecimal', '0x10'],
    ['a date in the past', 'Wed, 02 Jan 2030 11:59:59 GMT'],
    ['a date long past, in two digits', 'Sunday, 06-Nov-94 08:49:37 GMT'],
    ['a date in another zone', 'Wed, 02 Jan 2030 12:00:30 +0100'],
    ['a date without zone', 'Wed, 02 Jan 2030 12:00:30'],
    ['an ISO date without zone', '2030-01-02T12:00:30'],
    ['an epoch in the past', String(Date.UTC(2030, 0, 2, 11, 59, 0) / 1000)],
    ['an epoch long past', String(Date.UTC(2012, 0, 2) / 1000)],
    ['an epoch in ms in the past', String(Date.UTC(2030, 0, 2, 11, 59, 0))],
    ['a value and a word', '7, soon'],
    ['negative values', '-7, -8'],
    ['a duration of unknown length', 'P1M'],
    ['a unit alone', 'ms'],
    ['a unit that there is none of', '7 fortnights'],
    ['a day', 'Wednesday'],
    ['a day and a number', 'Wed 2099'],
    ['a month that there is none of', 'Wed, 02 Foo 2030 12:00:30 GMT'],
    ['an hour that there is none of', 'Wed, 02 Jan 2030 25:00:30 GMT'],
    ['a day that its month lacks', 'Sat, 30 Feb 2030 12:00:30 GMT'],
    ['a leap day of another year', 'Friday, 29-Feb-30 12:00:30 GMT'],
    ['the end of a day as 24:00', 'Wed, 02 Jan 2030 24:00:00 GMT'],
  ])('T6 counts as absent when it is %s', (_form, header) => {
    expect(retryAfter(header, answered, now)).toBeUndefined();
  });

  test.each([undefined, '', 'yesterday', '2030-01-02'])(
    "T6 is measured against our clock if the answer's Date is %j",
    (date) => {
      expect(retryAfter('Wed, 02 Jan 2030 10:00:30 GMT', date, now)).toBe(30_000);
    },
  );

  test("T6 is measured against the answer's Date, however wrong our clock is", () => {
    const from = 'Sun, 06 Nov 1994 08:49:37 GMT';
    const until = 'Sun, 06 Nov 1994 08:50:37 GMT';
    expect(retryAfter(until, from, now)).toBe(60_000);
    expect(retryAfter(until, from, 0)).toBe(60_000);
    // In two digits, by a clock of ours from which that year is in the past, whose century is exact.
    expect(retryAfter('Sunday, 06-Nov-94 08:50:37 GMT', from, now)).toBe(60_000);
  });

  test('T6 never raises and never gives less than nothing', { tags: ['slow'] }, () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.option(fc.string(), { nil: undefined }), (header, date) => {
        expect(retryAfter(header, date, now) ?? 0).toBeGreaterThanOrEqual(0);
      }),
    );
  });
});

test('a date beyond the calendar is none', () => {
  expect(dateAfter(0, 1_000)).toEqual(new Date(1_000));
  expect(dateAfter(0, 1e300)).toBeUndefined();
  expect(dateAfter(0, Infinity)).toBeUndefined();
});
