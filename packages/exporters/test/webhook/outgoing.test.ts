import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Change, changes, type RowSchema, type Snapshot } from '@sluice/core';
import { filter, from, lastValueFrom, toArray } from 'rxjs';
import { rowEncoder } from '../../src/webhook/outgoing.js';
import { rowId } from '../../src/webhook/outgoing.js';
import { thrownBy } from '../../../../test/kit/thrownBy.js';

interface Thing {
  readonly uuid?: string;
  readonly [name: string]: unknown;
}

const keyed: RowSchema<Thing> = { columns: ['uuid'], key: ({ uuid }) => uuid ?? '' };
const at = '2026-01-02T03:04:05.678Z';

describe('W2 the id of a row', () => {
  test('is the same on every run and every machine', () => {
    expect(rowId('things', 'k', { b: 1, a: { d: [1, { f: 1, e: 2 }], c: null } })).toBe(
      rowId('things', 'k', { a: { c: null, d: [1, { e: 2, f: 1 }] }, b: 1 }),
    );
    // Kept from the first version: receivers remember ids for years.
    expect(rowId('things', 'k', { a: 1 })).toBe('9a16928061e747f388af1ed49073ee48');
  });

  test('is another one as soon as anything differs', () => {
    const values = fc.jsonValue();
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.dictionary(fc.string(), values), values, (source, key, row, other) => {
        const id = rowId(source, key, row);
        expect(id).toMatch(/^[0-9a-f]{32}$/);
        expect(rowId(`${source}x`, key, row)).not.toBe(id);
        expect(rowId(source, `${key}x`, row)).not.toBe(id);
        expect(rowId(source, key, { ...row, 'one more': other })).not.toBe(id);
      }),
    );
    expect(rowId('a', 'b', {})).not.toBe(rowId('ab', '', {}));
    expect(rowId('a', '', { a: [1, 2] })).not.toBe(rowId('a', '', { a: [2, 1] }));
    expect(rowId('a', '', { a: '1' })).not.toBe(rowId('a', '', { a: 1 }));
    expect(rowId('a', '', JSON.parse('{"__proto__":1}'))).not.toBe(rowId('a', '', {}));
  });

  test('is of text or a whole number, which are the same where they look the same', () => {
    const encode = (key: unknown, name: unknown = 'x') =>
      rowEncoder<{ n: unknown }>(
        's',
        { columns: [], key: () => name as number },
        { key: () => key as number, format: 'bare' },
      )({ n: 1 }, at, 1);
    expect(encode(7)).toEqual(encode('7'));
    expect(encode(7).key).toBe('7');
    expect(encode('a', 7)).toEqual(encode('a', '7'));
    for (const wrong of [7.5, NaN, 2 ** 60, {}]) {
      expect(() => encode(wrong)).toThrow(/it must be text or a whole number/);
      expect(() => encode('a', wrong)).toThrow(/it must be text or a whole number/);
    }
    for (const [wrong, named] of [
      [[], 'a list'],
      [{ secret: 'x' }, 'an object'],
      [Object.create(null), 'an object'],
      [() => 'a', 'a function'],
    ] as const)
      expect(() => encode('a', wrong)).toThrow(`key returned ${named} for a row`);
  });

  test("is what the user makes of it, or the change's own", () => {
    const changes: RowSchema<Thing> = {
      columns: [],
      key: () => 'no order key',
      event: () => ({ id: 'change-1', key: 'row 7', type: 'changed', timestamp: '2026-01-01T00:00:00.000Z' }),
    };
    expect(rowEncoder('s', changes, { format: 'envelope' })({}, at, 3)).toEqual({
      id: 'change-1',
      key: 'row 7',
      body: '{"id":"change-1","type":"s.changed","timestamp":"2026-01-01T00:00:00.000Z","source":"s","sequence":3,"data":{}}',
    });
    const own = rowEncoder<Thing>('s', undefined, { id: ({ uuid }) => `u-${uuid}`, format: 'envelope' });
    expect(own({ uuid: 'x' }, at, 1)).toMatchObject({ id: 'u-x', key: null });
  });

  test.each(['', 'with.stop', 'with space', 'ä', 'a\n', 'x'.repeat(257), 7, null, undefined])(
    'can not be %j, which is no id',
    (id) => {
      const encode = rowEncoder<Thing>('s', keyed, { id: () => id as string, format: 'envelope' });
      if (id === null || id === undefined) expect(encode({ uuid: 'a' }, at, 1).id).toMatch(/^[0-9a-f]{32}$/);
      else
        expect(thrownBy(() => encode({ uuid: 'a' }, at, 1))).toMatchObject({
          code: 'config',
          details: { option: 'id' },
        });
    },
  );

  test('must come from somewhere: a source without keys needs a function', () => {
    expect(thrownBy(() => rowEncoder('things', { columns: ['a'] }, { format: 'envelope' }))).toMatchObject({
      code: 'config',
      message: expect.stringContaining('things'),
    });
    expect(rowEncoder<Thing>('things', undefined, { key: () => 'k', format: 'envelope' })({}, at, 1).key).toBe('k');
  });
});

test('W7 a change identifies itself where no schema says that it is one: behind an operator, and in writeTo', async () => {
  const snapshots = ['active', 'paused'].map((status): Snapshot<Thing> => ({
    rows: [{ uuid: 'u', status }],
    observedAt: at,
  }));
  const flow = from(snapshots).pipe(
    changes({ key: ({ uuid }) => uuid ?? '' }),
    filter(({ type }) => type === 'changed'),
    toArray(),
  );
  const [change] = await lastValueFrom(flow);
  if (!change) throw new Error('The status has changed.');
  const sent = rowEncoder<Change<Thing>>('observable', undefined, { format: 'envelope' })(change, at, 1);
  expect(sent).toMatchObject({ id: change.id, key: 'u' });
  expect(JSON.parse(sent.body)).toMatchObject({ id: change.id, type: 'observable.changed', data: { key: 'u' } });
  const named = rowEncoder<Change<Thing>>('observable', undefined, { id: ({ id }) => `my-${id}`, format: 'bare' });
  expect(named(change, at, 1)).toMatchObject({ id: `my-${change.id}`, key: 'u' });
});

test.each([
  [{ id: 'a', key: 'b', type: 'changed' }],
  [{ id: 'a', key: 'b', type: 'moved', generation: 1, observedAt: at, fields: [], before: null, after: null }],
])('W7 a row of no schema that is not a change is refused with both remedies: %j', (row) => {
  const encode = rowEncoder<Thing>('observable', undefined, { format: 'envelope' });
  const error = thrownBy(() => encode(row, at, 1));
  expect(error).toMatchObject({ code: 'config', details: { option: 'id' } });
  expect(String(error)).toMatch(/give webhook a key, .* or an id, /);
});

test("W7 the key for the order is the row's, unless another one is given or none is wanted", () => {
  const row = { uuid: 'u', owner: 'o' };
  const keyWith = (key?: ((row: Thing) => string) | null): string | null =>
    rowEncoder<Thing>('s', keyed, { key, format: 'envelope' })(row, at, 1).key;
  expect(keyWith()).toBe('u');
  expect(keyWith(({ owner }) => String(owner))).toBe('o');
  expect(keyWith(null)).toBeNull();
});

test('W7 a key is text or a whole number, or is refused', () => {
  const encode = rowEncoder<Thing>('s', keyed, { key: () => 7.5, format: 'envelope' });
  expect(thrownBy(() => encode({ uuid: 'u' }, at, 1))).toMatchObject({ code: 'config', details: { option: 'key' } });
});

test.each(['format', 'key', 'id'] as const)('W7 a function %s that fails for a row is named', (option) => {
  const failing = ({ owner }: Thing): never => (owner as { id: never }).id;
  const encode = rowEncoder<Thing>('s', keyed, { format: 'bare', [option]: failing });
  expect(thrownBy(() => encode({ uuid: 'u' }, at, 1))).toMatchObject({
    code: 'sink',
    fault: 'caller',
    message: expect.stringContaining(`The function ${option} of webhook() failed for a row: Cannot read properties`),
    cause: expect.any(TypeError),
  });
});

test('W3 an envelope names the record, its source, time and sequence', () => {
  const { id, body } = rowEncoder<Thing>('things', keyed, { format: 'envelope' })({ uuid: 'u', n: 1 }, at, 12);
  expect(JSON.parse(body)).toEqual({
    id,
    type: 'things.row',
    timestamp: at,
    source: 'things',
    sequence: 12,
    data: { uuid: 'u', n: 1 },
  });
});

test('a bare record is the row and nothing else', () => {
  expect(rowEncoder<Thing>('things', keyed, { format: 'bare' })({ uuid: 'u', n: 1 }, at, 12).body).toBe(
    '{"uuid":"u","n":1}',
  );
});

test('a row that is no JSON is named as such', () => {
  const encode = rowEncoder<Thing>('things', keyed, { format: 'envelope' });
  expect(thrownBy(() => encode({ uuid: 'u', n: 1n }, at, 1))).toMatchObject({ code: 'sink' });
});
