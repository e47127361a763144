import { describe, expect, test } from 'vitest';
import { reportOf, rewritten } from '../src/errorReport.js';
import { DecodeError, NetworkError } from '../src/index.js';

describe('the report of an error', () => {
  test('says what those who watch may know, down to its causes', () => {
    const cause = Object.assign(new TypeError('refused'), { code: 'ECONNREFUSED', socket: {} });
    const error = new NetworkError('No answer came.', {
      details: { route: 'a.b', attempts: 3, isLast: true, at: null, headers: { secret: 1 } },
      cause,
    });
    expect(reportOf(error)).toEqual({
      ...{ name: 'NetworkError', code: 'network', message: 'No answer came.', stack: error.stack },
      details: { route: 'a.b', attempts: 3, isLast: true },
      cause: { name: 'TypeError', code: 'ECONNREFUSED', message: 'refused', stack: cause.stack },
    });
  });

  test('is frozen, and does not change with its error', () => {
    const error = new DecodeError('odd', { path: 'rows' });
    const report = reportOf(error);
    error.message = 'very odd';
    expect(report.message).toBe('odd');
    expect([report, report.details].map(Object.isFrozen)).toEqual([true, true]);
  });

  test('ends where errors are each the cause of the other', () => {
    const one = new Error('one');
    const other = new Error('other', { cause: one });
    one.cause = other;
    let depth = 0;
    for (let report = reportOf(one).cause; report; report = report.cause) depth += 1;
    expect(depth).toBe(5);
  });

  test.each<[unknown, string]>([
    ['too late', 'too late'],
    [undefined, 'undefined'],
    [Symbol('odd'), 'Symbol(odd)'],
    [Object.create(null), 'Something that has no text.'],
    [Object.assign(new Error('odd'), { message: 5 }), '5'],
  ])('says of what is no proper error what text it has: %#', (thrown, message) => {
    expect(reportOf(thrown)).toMatchObject({ name: 'Error', message });
  });

  test('can be rewritten in all its texts', () => {
    const cause = Object.assign(new Error('key'), { code: 'key' });
    const report = reportOf(new DecodeError('key of key', { excerpt: '<key>', status: 200 }));
    const texts = JSON.stringify(
      rewritten({ ...report, cause: reportOf(cause) }, (text) => text.replaceAll('key', '-')),
    );
    expect(texts).not.toContain('key');
    expect(JSON.parse(texts)).toMatchObject({
      message: '- of -',
      details: { excerpt: '<->', status: 200 },
      cause: { code: '-' },
    });
  });
});
