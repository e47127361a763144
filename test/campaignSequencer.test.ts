import { expect, test } from 'vitest';
import { campaignsEarly } from '../scripts/campaignSequencer.js';

const orderOf = (names: string): string =>
  campaignsEarly(names.split(' ').map((name) => ({ moduleId: `${name}.test.ts` })))
    .map(({ moduleId }) => moduleId.replace('.test.ts', ''))
    .join(' ');

test.each([
  ['a b c d e f x.campaign y.campaign', 'x.campaign a b c d y.campaign e f'],
  ['a x.campaign y.campaign z.campaign', 'x.campaign a y.campaign z.campaign'],
  ['x.campaign', 'x.campaign'],
  ['b a', 'b a'],
])('files %s run in the order %s', (given, order) => {
  expect(orderOf(given)).toBe(order);
});
