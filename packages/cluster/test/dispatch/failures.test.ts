import { ConfigError, HttpError, LockError, NetworkError, PaginationError, SinkError } from '@sluice/core';
import { describe, expect, test } from 'vitest';
import { backoffAfter, findBlame, countFailures, maxFailures, describeError } from '../../src/dispatch/failures.js';
import { LimiterUnavailableError } from '../../src/index.js';

describe('K5 failures of a partition', () => {
  const error = new SinkError('any');

  test('count in a row, and a saved page begins them anew', () => {
    let failures = 0;
    for (const hasSaved of [false, false, false, true, false, false, false, false])
      failures = countFailures(failures, { error, hasSaved });
    expect(failures).toBe(4);
    expect(countFailures(failures, { error, hasSaved: false })).toBe(maxFailures);
    expect(countFailures(failures, { error, hasSaved: true })).toBe(0);
  });

  test('end at once if it has started over as often as it may, whatever it saved', () => {
    const refused = new PaginationError('cursor-refused', 'The cursor has expired.');
    expect(countFailures(0, { error: refused, hasSaved: true })).toBe(maxFailures);
  });

  test('begin anew when somebody lets a partition that was given up be tried again', () => {
    expect(countFailures(maxFailures, { error, hasSaved: false })).toBe(1);
  });

  test('are tried again after 2 s, and each time four times later', () => {
    expect([0, 1, 2, 3, 4].map((failures) => backoffAfter(failures))).toEqual([2_000, 2_000, 8_000, 32_000, 128_000]);
  });

  test('are none if the machine is to blame', () => {
    expect(findBlame(new ConfigError('no mount'))).toBe('machine');
    expect(findBlame(new LockError('an export writes the table'))).toBe('machine');
    expect(findBlame(new LimiterUnavailableError('api', 'no Redis'))).toBe('machine');
    expect(findBlame(new NetworkError('closed', { details: { isClosed: true } }))).toBe('machine');
    expect(findBlame(new NetworkError('TLS', { details: { platformCode: 'CERT_HAS_EXPIRED' } }))).toBe('machine');
    expect(findBlame(new NetworkError('name', { details: { platformCode: 'ENOTFOUND' } }))).toBe('partition');
    for (const error of [
      new SinkError('disk full'),
      new HttpError('HTTP 500', { status: 500, excerpt: '' }),
      new Error('any'),
    ])
      expect(findBlame(error)).toBe('partition');
  });

  test('are told to others without what foreign code says', () => {
    expect(describeError(new SinkError('The disk is full.'))).toBe('The disk is full.');
    expect(describeError(new TypeError('secret'))).toBe('TypeError: see the log of the worker.');
    expect(describeError('secret')).toBe('An error: see the log of the worker.');
  });
});
