import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { groupsOf } from '../../src/index.js';

describe('values are put into groups', () => {
  test.each([
    [2, Infinity, ['a', 'b', 'c'], [['a', 'b'], ['c']]],
    // Their lengths add up.
    [9, 4, ['aa', 'bb', 'c'], [['aa', 'bb'], ['c']]],
    [
      9,
      3,
      ['a', 'b', 'cc', 'd'],
      [
        ['a', 'b'],
        ['cc', 'd'],
      ],
    ],
    // Each group begins to count anew.
    [
      9,
      4,
      ['aaa', 'b', 'ccc', 'd'],
      [
        ['aaa', 'b'],
        ['ccc', 'd'],
      ],
    ],
    // What is too long by itself goes alone.
    [9, 2, ['a', 'bbbb', 'c'], [['a'], ['bbbb'], ['c']]],
    [9, 2, [], []],
  ])('of %i values and %d characters at most: %j', (size, maxLength, values, groups) => {
    expect(groupsOf(values, { size, maxLength, lengthOf: (value) => value.length })).toEqual(groups);
  });

  test('in order, none lost, and none that one request could not carry', () => {
    const values = fc.array(fc.string({ maxLength: 12 }));
    const max = fc.integer({ min: 1, max: 30 });
    fc.assert(
      fc.property(values, fc.integer({ min: 1, max: 5 }), max, (all, size, maxLength) => {
        const groups = groupsOf(all, { size, maxLength, lengthOf: (value) => value.length });
        expect(groups.flat()).toEqual(all);
        for (const group of groups) {
          expect(group.length).toBeLessThanOrEqual(size);
          if (group.length > 1) expect(group.join('').length).toBeLessThanOrEqual(maxLength);
        }
      }),
    );
  });
});
