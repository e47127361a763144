import { describe, expect, test } from 'vitest';
import { DecodeError, memoryState, watch, type StateStore } from '../../../src/index.js';
import type { PageSource } from '../../../src/kit.js';
import { checkStorable } from '../../../src/rows/watch/checkStorable.js';
import { inShort } from './foldedChanges.js';
import { SkippingClock } from './skippingClock.js';

interface Free {
  readonly id: string;
  readonly status: string;
  readonly value?: unknown;
}

function nested(levels: number): unknown {
  let value: unknown = 'deep';
  for (let level = 0; level < levels; level += 1) value = { in: value };
  return value;
}

/** A source that gives rows as they are, one page a walk. */
function sourceOf(rowsOf: (walk: number) => readonly Free[]): PageSource<Free> {
  let walk = 0;
  return {
    info: { name: 'free', identity: null, partitions: 1, schema: { columns: ['id'], key: ({ id }) => id } },
    async *pages() {
      walk += 1;
      const items = await Promise.resolve(rowsOf(walk));
      const position = { before: 1, begun: {}, rows: items.length, pages: 1 };
      yield { items, position, index: 0, partition: 0, endsPartition: true };
    },
  };
}

/** The polls' outcomes and what they told. */
async function polled(source: PageSource<Free>, polls: number, state?: StateStore): Promise<string[]> {
  const told: string[] = [];
  const options = { every: 1_000, clock: new SkippingClock(), polls, ...(state && { state }) };
  for await (const { items, health } of watch(source, options).pages()) {
    if (health?.outcome === 'failed') expect(health.error).toBeInstanceOf(DecodeError);
    told.push([health?.outcome, ...items.map(inShort)].join(' '));
  }
  return told;
}

const circle: Record<string, unknown> = {};
circle['self'] = circle;

const worst: [string, unknown][] = [
  ['is nested 501 levels deep', nested(500)],
  ['is nested 6,000 levels deep', nested(6_000)],
  ['is nested 100,000 levels deep', nested(100_000)],
  ['holds itself', circle],
  ['holds a BigInt', [{ amount: 7n }]],
];

describe('C9 a row that can’t be kept fails the poll, and the watch goes on', () => {
  test.each(worst)('where it %s', async (_, value) => {
    const a = { id: 'a', status: 'active' };
    const state = memoryState();
    const source = sourceOf((walk) => {
      if (walk === 3) return [{ ...a, value }];
      if (walk === 4) return [a, { id: 'b', status: 'active', value }];
      return [a];
    });
    expect(await polled(source, 4, state)).toEqual(['polled initial a', 'failed', 'failed', 'polled']);
    // Nothing of it was staged.
    expect(await polled(source, 1, state)).toEqual(['polled']);
    const stateless = sourceOf((walk) => (walk === 3 ? [{ ...a, value }] : [a]));
    expect(await polled(stateless, 3)).toEqual(['polled initial a', 'failed', 'polled']);
    // At the first poll, the code that makes the rows may be wrong.
    await expect(
      polled(
        sourceOf(() => [{ ...a, value }]),
        2,
      ),
    ).rejects.toThrow(DecodeError);
  });

  test('where whoever compares it runs out of stack', async () => {
    const a = { id: 'a', status: 'active' };
    const source = sourceOf((walk) => [walk === 3 ? { ...a, value: nested(100_000) } : a]);
    const equals = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);
    const health: unknown[] = [];
    const watched = watch(source, { every: 1_000, clock: new SkippingClock(), polls: 3, equals });
    for await (const page of watched.pages()) health.push(page.health);
    expect(health).toMatchObject([
      { outcome: 'polled' },
      { outcome: 'failed', error: expect.any(DecodeError) },
      { outcome: 'polled' },
    ]);
  });
});

test('a RangeError of the program’s own still ends it', async () => {
  const source = sourceOf(() => [{ id: 'a', status: 'active' }]);
  const key = (): string => (1).toFixed(1_000);
  await expect(watch(source, { every: 1_000, clock: new SkippingClock(), key }).toArray()).rejects.toThrow(RangeError);
});

test('what JSON has a form for can be kept, 500 levels deep, and comes back without a change', async () => {
  const value = {
    at: new Date(0),
    never: NaN,
    gap: [undefined],
    url: new URL('http://a/'),
    nothing: undefined,
    list: [1, [2]],
    deep: nested(498),
    json: { toJSON: () => ({ amount: 7 }) },
  };
  const source = sourceOf(() => [{ id: 'a', status: 'active', value }]);
  const state = memoryState();
  expect(await polled(source, 2, state)).toEqual(['polled initial a', 'polled']);
  expect(await polled(source, 2, state)).toEqual(['polled', 'polled']);
});

test.each<[string, unknown, RegExp]>([
  ['nothing', undefined, /The row "a" has no form in JSON/],
  ['a function', () => 1, /has no form in JSON/],
  ['a BigInt', { b: 1n }, /contains a BigInt/],
  ['too deep', nested(501), /is nested more than 500 levels deep/],
])('a row that is %s is refused by its name', (_, row, message) => {
  const check = (): void => checkStorable('a', row);
  expect(check).toThrow(DecodeError);
  expect(check).toThrow(message);
});

test('a row may be 500 levels deep', () => {
  expect(() => checkStorable('a', nested(500))).not.toThrow();
});
