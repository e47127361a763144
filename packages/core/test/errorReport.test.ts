import { describe, expect, test } from 'vitest';
import { reportOf } from '../src/errorReport.js';
import { rewriteReport } from '../src/redactError.js';
import { amend } from '../src/errors.js';
import { ConfigError, DecodeError, NetworkError } from '../src/index.js';

/** Whatever is done with it throws. */
function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

describe('the report of an error', () => {
  test('says what those who watch may know, down to its causes', () => {
    const cause = Object.assign(new TypeError('refused'), { code: 'ECONNREFUSED', socket: {} });
    const error = new NetworkError('No answer came.', {
      details: { route: 'a.b', attempts: 3, isLast: true, at: null, headers: { secret: 1 } },
      advice: [{ kind: 'wait' }],
      cause,
    });
    expect(reportOf(error)).toEqual({
      name: 'NetworkError',
      code: 'network',
      message: error.message,
      stack: error.stack,
      summary: 'No answer came.',
      advice: [{ kind: 'wait' }],
      details: { route: 'a.b', attempts: 3, isLast: true },
      cause: { name: 'TypeError', code: 'ECONNREFUSED', message: 'refused', stack: cause.stack },
    });
  });

  test('holds the advice that we know, and none that somebody else has made up', () => {
    const advice = [
      { kind: 'allow', option: 'sameProject' },
      { kind: 'raise', option: 'secret' },
      { kind: 'secret' },
      null,
      revoked(),
    ];
    expect(reportOf({ message: 'odd', advice }).advice).toBeUndefined();
    expect(reportOf({ message: 'odd', advice: advice.slice(0, 4) }).advice).toEqual([advice[0]]);
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

  const failing = (): never => {
    throw new Error('when it is read');
  };

  test.each<[string, unknown, object]>([
    [
      'has no name',
      Object.defineProperty(new TypeError('odd'), 'name', { get: failing }),
      { name: 'Error', message: 'odd' },
    ],
    ['has no message', Object.defineProperty(new Error('odd'), 'message', { get: failing }), { name: 'Error' }],
    ['has no code', Object.defineProperty(new Error('odd'), 'code', { get: failing }), { message: 'odd' }],
    ['has no stack', Object.defineProperty(new Error('odd'), 'stack', { get: failing }), { message: 'odd' }],
    ['has no cause', Object.defineProperty(new Error('odd'), 'cause', { get: failing }), { message: 'odd' }],
    [
      'has no details',
      new DecodeError('odd', { details: Object.defineProperty({}, 'at', { get: failing, enumerable: true }) }),
      { message: 'odd' },
    ],
    ['has facts that are gone', Object.assign(new Error('odd'), { details: revoked() }), { message: 'odd' }],
    [
      'tells nothing of itself',
      new Proxy(new Error('odd'), { get: failing, has: failing, getPrototypeOf: failing }),
      { name: 'Error' },
    ],
    ['is gone', revoked(), { name: 'Error', message: 'Something that has no text.' }],
  ])('says what there is of one that %s when it is read', (_what, thrown, report) => {
    expect(reportOf(thrown)).toMatchObject({ message: expect.any(String), ...report });
  });

  test('is made anew of a report, of nothing but what a report holds', () => {
    const report = reportOf(new DecodeError('odd', { path: 'rows' }));
    expect(reportOf({ ...report, secret: 1, details: { ...report.details, headers: {} } })).toEqual(report);
  });

  test('can be rewritten in all its texts', () => {
    const cause = Object.assign(new Error('key'), { code: 'key' });
    const report = reportOf(new DecodeError('key of key', { excerpt: '<key>', status: 200 }));
    const texts = JSON.stringify(
      rewriteReport({ ...report, cause: reportOf(cause) }, (text) => text.replaceAll('key', '-')),
    );
    expect(texts).not.toContain('key');
    expect(JSON.parse(texts)).toMatchObject({
      message: '- of -',
      details: { excerpt: '<->', status: 200 },
      cause: { code: '-' },
    });
  });
});

describe('the summary with another name for its option', () => {
  const error = () => new ConfigError((option = 'every') => `${option} is 0.`, { option: 'every' });

  test('keeps what was added later, and what was redacted', () => {
    const amended = error();
    amend(amended, 'It concerns all.');
    expect([amended.summary, amended.summaryWith('--every')]).toEqual([
      'every is 0. It concerns all.',
      '--every is 0. It concerns all.',
    ]);
    const changed = Object.assign(error(), { summary: '[redacted] is 0.' });
    expect(changed.summaryWith('--every')).toBe('[redacted] is 0.');
  });

  test('is in the first line of the stack, too, which logs print', () => {
    const amended = error();
    const [, ...frames] = amended.stack?.split('\n') ?? [];
    amend(amended, 'It costs $& and $1.', [{ kind: 'wait' }]);
    expect(amended.stack?.split('\n')).toEqual([expect.stringContaining(amended.message), ...frames]);
    expect(amended.message).toBe('every is 0. It costs $& and $1. Try again later.');
  });

  test('is the summary if it names none', () => {
    expect(new ConfigError('No.').summaryWith('--every')).toBe('No.');
  });
});
