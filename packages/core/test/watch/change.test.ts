import { expect, test } from 'vitest';
import { changeColumns, eventOfChange, isChange, toChange, type Difference } from '../../src/watch/change.js';

const removal: Difference<string> = { type: 'removed', key: 'a', before: 'x', after: null, fields: [] };
const seen = { watch: 'w', generation: 7, observedAt: '2030-01-01T00:00:00.000Z' };

test('C8 the same change has the same id, whenever it is given out and whatever it says', () => {
  const { id } = toChange(removal, seen);
  expect(toChange(removal, seen).id).toBe(id);
  expect(toChange({ ...removal, before: 'y' }, { ...seen, observedAt: '2031-01-01T00:00:00.000Z' }).id).toBe(id);
  expect(toChange(removal, seen)).toEqual({ ...removal, id, generation: 7, observedAt: seen.observedAt });
});

test('C8 a table of changes has a column for each field', () => {
  expect(Object.keys(toChange(removal, seen)).toSorted()).toEqual(changeColumns.toSorted());
});

test('a webhook gets the id, the key, the type and the time of a change', () => {
  const change = toChange(removal, seen);
  expect(eventOfChange(change)).toEqual({ id: change.id, key: 'a', type: 'removed', timestamp: seen.observedAt });
});

test('a row is a change if it has all that a change has', () => {
  const change = { ...toChange(removal, seen) };
  expect(isChange(change)).toBe(true);
  for (const name of changeColumns)
    expect([name, isChange({ ...change, [name]: {} })]).toEqual([name, name === 'before' || name === 'after']);
  for (const name of changeColumns)
    expect([name, isChange(Object.fromEntries(Object.entries(change).filter(([each]) => each !== name)))]).toEqual([
      name,
      false,
    ]);
});

test('C8 changes of another row, time or watch have other ids', () => {
  const ids = new Set<string>();
  for (const watch of ['v', 'w', 'w7'])
    for (let generation = 0; generation < 100; generation += 1)
      for (let key = 0; key < 100; key += 1)
        ids.add(toChange({ ...removal, key: String(key) }, { ...seen, watch, generation }).id);
  expect(ids.size).toBe(30_000);
});
