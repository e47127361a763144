import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ConfigError, createSource, watch } from '../../../src/index.js';
import { fieldsBetween, type ComparisonOptions } from '../../../src/rows/watch/comparisonOptions.js';

type Pair = [before: unknown, after: unknown];

const json = (text: string): unknown => JSON.parse(text);

describe('two rows differ', () => {
  test.each<[string, unknown, unknown, readonly string[]]>([
    ['in nothing', { a: 1, b: { c: [1, { d: null }] } }, { a: 1, b: { c: [1, { d: null }] } }, []],
    ['in nothing but the order of names', { a: 1, b: { c: 1, d: 2 } }, { b: { d: 2, c: 1 }, a: 1 }, []],
    ['in several fields, told in order', { z: 1, a: 1 }, { z: 2, a: 2 }, ['a', 'z']],
    ['deep inside', { a: { b: { c: 1, d: 1 } } }, { a: { b: { c: 2, d: 1 } } }, ['a.b.c']],
    ['in a field that came', { a: 1 }, { a: 1, b: 2 }, ['b']],
    ['in a field that went', { a: 1, b: null }, { a: 1 }, ['b']],
    ['in a record that came', { a: {} }, { a: { b: { c: 1 } } }, ['a.b']],
    ['in what is a record no more', { a: { b: 1 } }, { a: null }, ['a']],
    ['in a record that is a list now', { a: {} }, { a: [] }, ['a']],
    ['in one with the same items', { a: { 0: 'x' } }, { a: ['x'] }, ['a']],
    ['in an empty list and none', { a: [] }, { a: null }, ['a']],
    ['in a list’s length', { a: [1] }, { a: [1, 2] }, ['a']],
    ['in a list’s order', { a: [1, 2] }, { a: [2, 1] }, ['a']],
    ['inside a list', { a: [{ b: [1] }] }, { a: [{ b: [2] }] }, ['a']],
    ['in a name inside a list', { a: [{ b: 1 }] }, { a: [{ c: 1 }] }, ['a']],
    ['in 1 and "1"', { a: 1 }, { a: '1' }, ['a']],
    ['in 0, false and ""', { a: 0, b: false }, { a: false, b: '' }, ['a', 'b']],
    ['in a field called constructor', {}, json('{"constructor":1}'), ['constructor']],
    ['in one called toString that went', json('{"toString":"x"}'), {}, ['toString']],
    ['in one called __proto__', json('{"__proto__":{"a":1}}'), json('{"__proto__":{"a":2}}'), ['__proto__.a']],
    ['in a __proto__ that came', {}, json('{"__proto__":{"a":1}}'), ['__proto__']],
    ['in a __proto__ inside a list', { a: [{}] }, { a: [json('{"__proto__":{}}')] }, ['a']],
    ['as texts', 'a', 'b', ['*']],
    ['as lists', [1], [2], ['*']],
    ['as a record and none', {}, null, ['*']],
    // What was kept over a restart came back as JSON has it.
    ['in what stands where nothing was', { a: undefined, c: [{ d: undefined }] }, { b: 1, c: [{ e: 1 }] }, ['b', 'c']],
    ['not in what JSON leaves out', { a: undefined, b: [{ c: undefined }] }, { b: [{}] }, []],
    ['not in a date and its text', { a: new Date(0) }, { a: '1970-01-01T00:00:00.000Z' }, []],
    ['in two dates', { a: new Date(0), b: [new Date(0)] }, { a: new Date(1), b: [new Date(1)] }, ['a', 'b']],
    ['not in the sign of zero', { a: -0, b: [-0] }, { a: 0, b: [0] }, []],
    ['not in a number that is none', { a: NaN, b: [NaN] }, { a: NaN, b: [NaN] }, []],
    ['not in a number that is none and what JSON makes of it', { a: NaN, b: [-Infinity] }, { a: null, b: [null] }, []],
    ['not in a list’s gap', { a: [undefined], b: new Array(1) }, { a: [null], b: [null] }, []],
    ['in a list’s gap', { a: new Array(1) }, { a: ['x'] }, ['a']],
    ['not in a map and a record, which JSON has no entries of', { a: new Map([[1, 2]]) }, { a: {} }, []],
  ])('%s', (_, before, after, fields) => {
    expect(fieldsBetween({})(before, after)).toEqual(fields);
    expect(fieldsBetween({})(structuredClone(before), before)).toEqual([]);
    // Both ways round, a difference is one.
    expect(fieldsBetween({})(after, before).length > 0).toBe(fields.length > 0);
  });
});

class Money {
  readonly currency = 'EUR';
  readonly #amount: number;

  constructor(amount: number) {
    this.#amount = amount;
  }

  toJSON(): unknown {
    return { amount: this.#amount };
  }
}

test.each<[string, unknown, unknown, readonly string[]]>([
  ['a URL and its text', { a: new URL('http://a/') }, { a: 'http://a/' }, []],
  ['two URLs', { a: new URL('http://a/') }, { a: new URL('http://b/') }, ['a']],
  ['money and its record', { a: new Money(1) }, { a: { amount: 1 } }, []],
  ['money with the same fields', { a: new Money(1) }, { a: new Money(2) }, ['a.amount']],
  ['money in a list', { a: [new Money(1)] }, { a: [{ amount: 1 }] }, []],
  ['what JSON leaves out', { a: () => 1, b: Symbol('b'), c: [() => 1] }, { c: [null] }, []],
])('rows that say themselves what JSON makes of them are compared as that: %s', (_, before, after, fields) => {
  expect(fieldsBetween({})(before, after)).toEqual(fields);
  expect(fieldsBetween({})(after, before)).toEqual(fields);
  expect(fieldsBetween({})(before, before)).toEqual([]);
  const equals = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);
  expect(fieldsBetween({ equals, ignore: ['other'] })(before, after)).toEqual(fields);
});

test('two rows differ whenever their JSON does, whatever the order of names', () => {
  const leaf = fc.constantFrom<unknown>(0, 1, '1', '', null, true);
  const name = fc.constantFrom('a', 'b', 'c', '0', '__proto__', 'constructor');
  /** Two values that are mostly the same. A record's fields may be missing from either, or be `undefined`. */
  const { pair } = fc.letrec<{ pair: Pair }>((tie) => {
    const field = fc.record({ name, pair: tie('pair'), kind: fc.constantFrom(...'=======<>?') });
    return {
      pair: fc.oneof(
        { maxDepth: 3 },
        leaf.map((value): Pair => [value, value]),
        fc.tuple(leaf, leaf),
        fc
          .array(tie('pair'), { maxLength: 2 })
          .map((items): Pair => [items.map(([one]) => one), items.map(([, two]) => two)]),
        fc.array(field, { maxLength: 4 }).map((fields): Pair => {
          const before = fields.filter(({ kind }) => kind !== '>');
          const after = fields.filter(({ kind }) => kind !== '<').reverse();
          return [
            Object.fromEntries(before.map((each) => [each.name, each.kind === '?' ? undefined : each.pair[0]])),
            Object.fromEntries(after.map((each) => [each.name, each.pair[1]])),
          ];
        }),
      ),
    };
  });
  let same = 0;
  fc.assert(
    fc.property(pair, ([before, after]) => {
      const fields = fieldsBetween({})(before, after);
      const isSame = inOrder(before) === inOrder(after);
      same += Number(isSame);
      expect(fields.length === 0).toBe(isSame);
      // Each field that is told is one: without them nothing is left to differ.
      if (!fields.includes('*')) expect(fieldsBetween({ ignore: fields })(before, after)).toEqual([]);
    }),
    { numRuns: 3_000 },
  );
  expect(same).toBeGreaterThan(500);
  expect(same).toBeLessThan(2_500);
});

/** JSON, with the names in order. */
function inOrder(value: unknown): string | undefined {
  return JSON.stringify(value, (_, each: unknown) =>
    typeof each === 'object' && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).sort(([one], [other]) => (one < other ? -1 : 1)))
      : each,
  );
}

describe('C10 what is compared', () => {
  const before = { id: 1, status: 'active', stats: { seen: 1, kind: { name: 'x' } }, 'a.b': 1, list: [1] };
  const after = { id: 1, status: 'error', stats: { seen: 2, kind: { name: 'y' } }, 'a.b': 2, list: [2] };
  const all = ['a.b', 'list', 'stats.kind.name', 'stats.seen', 'status'];

  test.each<[string, ComparisonOptions<unknown>, readonly string[]]>([
    ['all of it', {}, all],
    ['all but a field', { ignore: ['status'] }, all.filter((field) => field !== 'status')],
    ['all but one that no row has', { ignore: ['none', 'stats.none'] }, all],
    ['all but what is inside a field', { ignore: ['stats'] }, ['a.b', 'list', 'status']],
    ['all but a field inside one', { ignore: ['stats.seen', 'list'] }, ['a.b', 'stats.kind.name', 'status']],
    ['some fields', { project: ['id', 'status'] }, ['status']],
    ['a field inside one', { project: ['stats.kind'] }, ['stats.kind.name']],
    ['a field far inside', { project: ['stats.kind.name'] }, ['stats.kind.name']],
    ['a field whose name has a dot', { project: ['a.b'] }, ['a.b']],
    ['a field that is named twice', { project: ['stats', 'stats.seen'] }, ['stats.kind.name', 'stats.seen']],
    ['a field that no row has', { project: ['none', 'stats.none', 'status.length'] }, []],
    ['a field, but for what is inside', { project: ['stats'], ignore: ['stats.seen'] }, ['stats.kind.name']],
    [
      'what a function makes of it',
      { project: (row) => ({ ...Object(row), status: 1, list: 1 }) },
      ['a.b', 'stats.kind.name', 'stats.seen'],
    ],
    ['a text that a function makes', { project: (row) => JSON.stringify(row) }, ['*']],
    ['nothing, where all counts as equal', { equals: () => true }, []],
    ['all, where nothing does', { equals: () => false }, all],
  ])('%s', (_, options, fields) => {
    expect(fieldsBetween(options)(before, after)).toEqual(fields);
  });

  test.each<[string, unknown, unknown, readonly string[]]>([
    ['moved', { id: 1, seen: 1 }, { id: 1, seen: 2 }, []],
    ['came', { id: 1 }, { id: 1, seen: 2 }, []],
    ['went', { id: 1, seen: 1 }, { id: 1 }, []],
    ['went, and another one came', { id: 1, seen: 1 }, { id: 1, other: 1 }, ['other']],
    ['was nothing, and another one came', { id: 1, seen: undefined }, { id: 1, other: 1 }, ['other']],
    ['is a record', { id: 1, seen: { at: 1 } }, { id: 1, seen: { at: 2 } }, []],
    ['is elsewhere', { id: 1, in: { seen: 1 } }, { id: 1, in: { seen: 2 } }, ['in.seen']],
  ])('a field that is ignored and %s', (_, before, after, fields) => {
    expect(fieldsBetween({ ignore: ['seen'] })(before, after)).toEqual(fields);
  });

  test('somebody else’s idea of equality may see what ours does not', () => {
    expect(fieldsBetween({ equals: () => false })(before, before)).toEqual(['*']);
  });

  test('rows that are no records are compared as they are, whatever is projected', () => {
    const fields = fieldsBetween<unknown>({ project: ['status'] });
    expect([fields('a', 'a'), fields('a', 'b'), fields({}, 'a'), fields(null, {})]).toEqual([[], ['*'], ['*'], ['*']]);
  });

  test('no field at all is refused, since no row could change', () => {
    expect(() => fieldsBetween({ project: [] })).toThrow(ConfigError);
    expect(() => fieldsBetween({ project: [] }, ['id'])).toThrow(/project is empty/);
  });

  test('it does not see what is ignored', () => {
    const equals = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);
    const fields = fieldsBetween({ equals, ignore: ['status', 'stats.seen'] });
    expect(fields(before, { ...before, status: 'error', stats: { ...before.stats, seen: 7 } })).toEqual([]);
    expect(fields(before, { ...before, list: [7] })).toEqual(['list']);
    expect(fieldsBetween({ equals, ignore: ['status'] })(before, { ...before, status: 'error' })).toEqual([]);
  });

  test('project with a field that no row has is refused; ignore may name one that is still to come', () => {
    expect(() => fieldsBetween({ ignore: ['updatedAt'] }, ['id', 'status'])).not.toThrow();
    for (const name of ['stauts', 'stauts.deep', '']) {
      const make = (): unknown => fieldsBetween({ project: ['status', name] }, ['id', 'status']);
      expect(make).toThrow(ConfigError);
      expect(make).toThrow(name === '' ? 'which no row has. Available: id, status.' : 'Did you mean status?');
    }
    expect(() => fieldsBetween({ project: ['status.deep'] }, ['id', 'status'])).not.toThrow();
    expect(() => fieldsBetween({ project: ['whatever'] })).not.toThrow();
  });
});

test.each<[Omit<ComparisonOptions<object>, 'key'>, readonly string[]]>([
  [{}, ['status', 'stats', 'note']],
  [{ ignore: ['note', 'stats.seen'] }, ['status', 'stats']],
  [{ project: ['stats.seen', 'note'], ignore: ['note'] }, ['stats']],
  [{ project: () => 1 }, ['status', 'stats', 'note']],
])('a watch with %j tells sinks which fields it compares', (options, compared) => {
  const columns = ['status', 'stats', 'note'];
  const fetch = () => Promise.resolve({ rows: [], next: 'end' as const });
  const source = createSource<object>({ name: 'rows', identity: null, schema: { columns, key: () => 1 }, fetch });
  const { schema } = watch(source, { every: 1_000, ...options }).info;
  expect(columns.filter((column) => schema?.compares?.(column))).toEqual(compared);
});
