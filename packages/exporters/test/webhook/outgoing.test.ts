import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Change, changes, type RowSchema, type Snapshot } from '@sluice/core';
import type { EventScope } from '@sluice/core/kit';
import { filter, from, lastValueFrom, toArray } from 'rxjs';
import { type OutgoingOptions, pageEncoder } from '../../src/webhook/outgoing.js';
import { thrownBy } from '../../../../test/kit/thrownBy.js';

interface Thing {
  readonly uuid?: string;
  readonly [name: string]: unknown;
}

const keyed: RowSchema<Thing> = { columns: ['uuid'], key: ({ uuid }) => uuid ?? '' };
const at = '2026-01-02T03:04:05.678Z';

/** Encodes the rows of one page. */
function encoder<T extends object>(source: string, schema: RowSchema<T> | undefined, options: OutgoingOptions<T>) {
  return pageEncoder(source, schema, options)({ page: 'page', rows: 'rows' });
}

describe('W2 the id of a row', () => {
  const idOf = (row: object, { key = '', scope = {} }: { key?: string; scope?: Partial<EventScope> } = {}): string =>
    pageEncoder('things', { columns: [], key: () => key }, { format: 'bare' })({ page: 'p', rows: 'r', ...scope })(
      row,
      at,
      1,
    ).id;

  test('is the same for equal content of one run, whatever the order of its fields, and on whatever page it comes', () => {
    const row = { b: 1, a: { d: [1, { f: 1, e: 2 }], c: null } };
    const again = { a: { c: null, d: [1, { e: 2, f: 1 }] }, b: 1 };
    expect(idOf(row)).toBe(idOf(again, { scope: { page: 'another' } }));
  });

  test('is another one as soon as anything differs', { tags: ['slow'] }, () => {
    const values = fc.jsonValue();
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.dictionary(fc.string(), values), values, (rows, key, row, other) => {
        const scope = { rows };
        const id = idOf(row, { key, scope });
        expect(id).toMatch(/^[0-9a-f]{32}$/);
        expect(idOf(row, { key, scope: { rows: `${rows}x` } })).not.toBe(id);
        expect(idOf(row, { key: `${key}x`, scope })).not.toBe(id);
        expect(idOf({ ...row, 'one more': other }, { key, scope })).not.toBe(id);
      }),
    );
    expect(idOf({}, { key: 'b', scope: { rows: 'a' } })).not.toBe(idOf({}, { scope: { rows: 'ab' } }));
    expect(idOf({ a: [1, 2] })).not.toBe(idOf({ a: [2, 1] }));
    expect(idOf({ a: '1' })).not.toBe(idOf({ a: 1 }));
    expect(idOf(JSON.parse('{"__proto__":1}') as object)).not.toBe(idOf({}));
  });

  test('is its own where equal records are events of their own: without a key, behind an operator, and in writeTo', () => {
    const send = (schema: RowSchema<Thing> | undefined, scope: EventScope): string[] => {
      const encode = pageEncoder<Thing>('things', schema, { key: () => 'k', format: 'bare' })(scope);
      return ['up', 'down', 'up', 'down', 'up'].map((status, index) => encode({ status }, at, index).id);
    };
    for (const schema of [undefined, { columns: ['status'] }, keyed]) {
      const rows = schema === keyed ? undefined : 'r';
      const ids = send(schema, { page: 'p', rows });
      expect(new Set([...ids, ...send(schema, { page: 'q', rows })]).size).toBe(10);
      // A page that comes again is the same events.
      expect(send(schema, { page: 'p', rows })).toEqual(ids);
    }
  });

  test('of records that an operator makes of one change differ, and the first keeps that of the change', () => {
    const change = { id: 'c-1', key: 'k', type: 'changed', generation: 1, observedAt: at, before: {}, after: {} };
    const encode = pageEncoder<Thing>('s', undefined, { format: 'bare' })({ page: 'p' });
    const records = [['a'], ['b'], ['a']].map((fields) => ({ ...change, fields }));
    expect(records.map((record) => encode(record, at, 1).id)).toEqual(['c-1', 'c-1-1', 'c-1-2']);
  });

  test('is of text or a whole number, which are the same where they look the same', () => {
    const encode = (key: unknown, name: unknown = 'x') =>
      encoder<{ n: unknown }>(
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
    expect(encoder('s', changes, { format: 'envelope' })({}, at, 3)).toEqual({
      id: 'change-1',
      key: 'row 7',
      body: '{"id":"change-1","type":"s.changed","timestamp":"2026-01-01T00:00:00.000Z","source":"s","sequence":3,"data":{}}',
    });
    const own = encoder<Thing>('s', undefined, { id: ({ uuid }) => `u-${uuid}`, format: 'envelope' });
    expect(own({ uuid: 'x' }, at, 1)).toMatchObject({ id: 'u-x', key: null });
  });

  test.each(['', 'with.stop', 'with space', 'ä', 'a\n', 'x'.repeat(257), 7, null, undefined])(
    'can not be %j, which is no id',
    (id) => {
      const encode = encoder<Thing>('s', keyed, { id: () => id as string, format: 'envelope' });
      if (id === null || id === undefined) expect(encode({ uuid: 'a' }, at, 1).id).toMatch(/^[0-9a-f]{32}$/);
      else
        expect(thrownBy(() => encode({ uuid: 'a' }, at, 1))).toMatchObject({
          code: 'config',
          details: { option: 'id' },
        });
    },
  );

  test('must come from somewhere: a source without keys needs a function', () => {
    expect(thrownBy(() => encoder('things', { columns: ['a'] }, { format: 'envelope' }))).toMatchObject({
      code: 'config',
      message: expect.stringContaining('things'),
    });
    expect(encoder<Thing>('things', undefined, { key: () => 'k', format: 'envelope' })({}, at, 1).key).toBe('k');
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
  const sent = encoder<Change<Thing>>('observable', undefined, { format: 'envelope' })(change, at, 1);
  expect(sent).toMatchObject({ id: change.id, key: 'u' });
  expect(JSON.parse(sent.body)).toMatchObject({ id: change.id, type: 'observable.changed', data: { key: 'u' } });
  const named = encoder<Change<Thing>>('observable', undefined, { id: ({ id }) => `my-${id}`, format: 'bare' });
  expect(named(change, at, 1)).toMatchObject({ id: `my-${change.id}`, key: 'u' });
});

test.each([
  [{ id: 'a', key: 'b', type: 'changed' }],
  [{ id: 'a', key: 'b', type: 'moved', generation: 1, observedAt: at, fields: [], before: null, after: null }],
])('W7 a row of no schema that is not a change is refused with both remedies: %j', (row) => {
  const encode = encoder<Thing>('observable', undefined, { format: 'envelope' });
  const error = thrownBy(() => encode(row, at, 1));
  expect(error).toMatchObject({ code: 'config', details: { option: 'id' } });
  expect(String(error)).toMatch(/give webhook a key, .* or an id, /);
});

test("W7 the key for the order is the row's, unless another one is given or none is wanted", () => {
  const row = { uuid: 'u', owner: 'o' };
  const keyWith = (key?: ((row: Thing) => string) | null): string | null =>
    encoder<Thing>('s', keyed, { key, format: 'envelope' })(row, at, 1).key;
  expect(keyWith()).toBe('u');
  expect(keyWith(({ owner }) => String(owner))).toBe('o');
  expect(keyWith(null)).toBeNull();
});

test('W7 a key is text or a whole number, or is refused', () => {
  const encode = encoder<Thing>('s', keyed, { key: () => 7.5, format: 'envelope' });
  expect(thrownBy(() => encode({ uuid: 'u' }, at, 1))).toMatchObject({ code: 'config', details: { option: 'key' } });
});

test.each(['format', 'key', 'id'] as const)('W7 a function %s that fails for a row is named', (option) => {
  const failing = ({ owner }: Thing): never => (owner as { id: never }).id;
  const encode = encoder<Thing>('s', keyed, { format: 'bare', [option]: failing });
  expect(thrownBy(() => encode({ uuid: 'u' }, at, 1))).toMatchObject({
    code: 'sink',
    fault: 'caller',
    message: expect.stringContaining(`The function ${option} of webhook() failed for a row: Cannot read properties`),
    cause: expect.any(TypeError),
  });
});

test('W3 an envelope names the record, its source, time and sequence', () => {
  const { id, body } = encoder<Thing>('things', keyed, { format: 'envelope' })({ uuid: 'u', n: 1 }, at, 12);
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
  expect(encoder<Thing>('things', keyed, { format: 'bare' })({ uuid: 'u', n: 1 }, at, 12).body).toBe(
    '{"uuid":"u","n":1}',
  );
});

test('a row that is no JSON is named as such', () => {
  const encode = encoder<Thing>('things', keyed, { format: 'envelope' });
  expect(thrownBy(() => encode({ uuid: 'u', n: 1n }, at, 1))).toMatchObject({ code: 'sink' });
});
