import * as v from 'valibot';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { issuesText } from '../../src/define/responses/issueText.js';

describe('what is wrong with a row', () => {
  test.each<[string, PropertyKey[], string]>([
    ['a field', ['price'], '.price'],
    ['an item', ['tags', 2, 'name'], '.tags[2].name'],
    ['a name that is none', ['my field'], '["my field"]'],
    ['a symbol', [Symbol('x')], '["Symbol(x)"]'],
    ['the row', [], ''],
  ])('has its place: %s', (_what, path, text) => {
    expect(issuesText([{ message: 'No', path }], {}).path).toBe(text);
    expect(issuesText([{ message: 'No', path: path.map((key) => ({ key })) }], {}).path).toBe(text);
  });

  test.each<[string, unknown, string]>([
    ['Expected a number', { price: 'free' }, 'Expected a number'],
    ['It is  not\n good. ', {}, 'It is not good'],
    [
      'Expected number but received "hunter2-token"',
      { price: 'hunter2-token' },
      'the schema refuses it, and it is text',
    ],
    ['Received "hunter2-…"', { price: 'hunter2-token' }, 'the schema refuses it, and it is text'],
    ['Got say \\"hi\\" to me', { price: 'say "hi" to me' }, 'the schema refuses it, and it is text'],
    ['Too big: 123456', { price: 123456 }, 'the schema refuses it, and it is a number'],
    ['Unlike hunter2-token', { other: [{ deep: 'hunter2-token' }] }, 'the schema refuses it, and it is missing'],
    ['Expected a or b', { price: 'a', other: 'b' }, 'Expected a or b'],
    ['', { price: null }, 'the schema refuses it, and it is null'],
  ])('%s, of %j, is told as: %s', (message, row, what) => {
    expect(issuesText([{ message, path: ['price'] }], row).what).toBe(what);
  });

  test('is short, and says how many more there are', () => {
    const { what } = issuesText([{ message: 'x'.repeat(5_000) }, { message: 'b' }, { message: 'c' }], {});
    expect(what).toMatch(/^x{200}… \(and 2 more\)$/);
  });

  test.each([
    ['Zod', z.object({ token: z.number() })],
    ['Valibot', v.object({ token: v.number() })],
  ])('never shows the value, whatever %s says', (_library, schema) => {
    const row = { token: 'sk-live-0123456789' };
    const result = schema['~standard'].validate(row);
    if (result instanceof Promise || !result.issues) throw new Error('It was accepted.');
    const { path, what } = issuesText(result.issues, row);
    expect(path).toBe('.token');
    expect(what).not.toContain('sk-live');
    expect(what).toMatch(/expected number|it is text/);
  });
});
