import { expect, test } from 'vitest';
import { createSource, memoryState, watch, type Change, type Position } from '../../../src/index.js';
import { SkippingClock } from './skippingClock.js';

interface Row {
  readonly id: string;
  readonly note: number;
}

test('a watch lists the rows that a position stands for, whatever it has stored of later polls', async () => {
  const listings: readonly (readonly Row[])[] = [
    [
      { id: 'a', note: 1 },
      { id: 'b', note: 1 },
    ],
    [
      { id: 'a', note: 2 },
      { id: 'c', note: 2 },
    ],
  ];
  const state = memoryState();
  let polls = 0;
  const source = createSource<Row>({
    name: 'items',
    identity: null,
    schema: { columns: ['id', 'note'], key: ({ id }) => id },
    fetch: () => Promise.resolve({ rows: listings[polls++] ?? [], next: 'end' }),
  });
  const watched = () =>
    watch(source, {
      every: 1_000,
      clock: new SkippingClock(),
      polls: 1,
      confirmations: 1,
      acceptRemovals: true,
      holdAbove: 1,
      state,
    });
  let startAt: Position | undefined;
  for await (const { position } of watched().pages()) startAt = position;
  if (!startAt) throw new Error('There was no poll.');
  // Its consumer ends before it has the changes: the next run emits them again.
  for await (const { health } of watched().pages({ startAt })) if (health?.outcome === 'polled') break;
  const start = { startAt, newHistory: undefined };
  const list = async (of?: 'first' | 'before'): Promise<Change<Row>[]> => {
    const changes: Change<Row>[] = [];
    const { signal } = new AbortController();
    for await (const page of watched().uncommitted?.(start, signal, of) ?? []) changes.push(...page);
    return changes;
  };
  const before = (await list('before')).map(({ type, after }) => [type, after]).sort();
  expect(before).toEqual([
    ['added', { id: 'a', note: 1 }],
    ['added', { id: 'b', note: 1 }],
  ]);
  expect((await list()).map(({ type, key }) => `${type} ${key}`)).toEqual(
    expect.arrayContaining(['changed a', 'removed b', 'added c']),
  );
});
