import { expect, test } from 'vitest';
import { timeoutsFor } from '../src/source/openClient.js';

test.each([
  [30_000, { connect: 10_000, response: 30_000, total: 180_000 }],
  [5000, { connect: 5000, response: 5000, total: 60_000 }],
  [120_000, { connect: 10_000, response: 120_000, total: 720_000 }],
])('a deadline of %i ms for an answer leaves time to connect and to try again', (response, timeouts) => {
  expect(timeoutsFor(response)).toEqual(timeouts);
});
