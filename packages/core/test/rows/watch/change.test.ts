import { expect, test } from 'vitest';
import { toChanges, type Delta } from '../../../src/rows/watch/acceptedSnapshot.js';
import {
  changeColumns,
  eventOfChange,
  isChange,
  type Change,
  type Difference,
} from '../../../src/rows/watch/change.js';

const removal: Difference<string> = { type: 'removed', key: 'a', before: 'x', after: null, fields: [] };
const observedAt = '2030-01-01T00:00:00.000Z';

const removed: Change<string> = { ...removal, id: 's-0', generation: 7, observedAt };

function deltaOf(keys: readonly string[], { scope, generation = 7 }: Partial<Delta<string>> = {}): Delta<string> {
  return { generation, scope, observedAt, missing: new Map(), differences: keys.map((key) => ({ ...removal, key })) };
}

test('C8 the id of a change is the scope of its delta and its number there, in whatever parts it is given out', () => {
  const delta = deltaOf(['a', 'b', 'c'], { scope: 's' });
  const all = toChanges(delta, 'h');
  expect(all[0]).toEqual(removed);
  expect(all.map(({ id }) => id)).toEqual(['s-0', 's-1', 's-2']);
  expect([...toChanges(delta, 'h', { to: 1 }), ...toChanges(delta, 'other', { from: 1 })]).toEqual(all);
});

test('W2 a delta that an earlier version staged keeps its ids', () => {
  const ids = (history: string, generation: number): string[] =>
    toChanges(deltaOf(['a', 'b'], { generation }), history).map(({ id }) => id);
  expect(ids('w', 7)).toEqual(['28dsh0abglfai484oj2s0', '1xihv7fsj3g5rvcdvy9r7']);
  expect(new Set([...ids('w', 7), ...ids('v', 7), ...ids('w', 8)]).size).toBe(6);
});

test('C8 a table of changes has a column for each field', () => {
  expect(Object.keys(removed).toSorted()).toEqual(changeColumns.toSorted());
});

test('a webhook gets the id, the key, the type and the time of a change', () => {
  expect(eventOfChange(removed)).toEqual({ id: 's-0', key: 'a', type: 'removed', timestamp: observedAt });
});

test('a row is a change if it has all that a change has', () => {
  expect(isChange(removed)).toBe(true);
  for (const name of changeColumns)
    expect([name, isChange({ ...removed, [name]: {} })]).toEqual([name, name === 'before' || name === 'after']);
  for (const name of changeColumns)
    expect([name, isChange(Object.fromEntries(Object.entries(removed).filter(([each]) => each !== name)))]).toEqual([
      name,
      false,
    ]);
});
