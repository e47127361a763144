import { expect, test } from 'vitest';
import { rateAdvice } from '../../src/progress/rateAdvice.js';

const use = { used: 5, limit: 5, per: 1_000 };
test.each<[Parameters<typeof rateAdvice>, string | undefined]>([
  [
    [{ waited: 39_000, elapsed: 41_000, requests: 200 }, undefined, use],
    'Waited 39 s of 41 s for --rate (5/s, the default); raise it if your plan allows more.',
  ],
  [
    [
      { waited: 61_000, elapsed: 90_000, requests: 150 },
      { requests: 100, per: 60_000 },
      { used: 1, limit: 100, per: 60_000 },
    ],
    'Waited 1 min 1 s of 1 min 30 s for --rate (100/m); raise it if your plan allows more.',
  ],
  [[{ waited: 39_000, elapsed: 41_000, requests: 200 }, undefined, { used: 1, limit: 2, per: 1_000 }], undefined],
  [[{ waited: 39_000, elapsed: 41_000, requests: 200 }, false, undefined], undefined],
  [[{ waited: 999, elapsed: 1_000, requests: 200 }, undefined, use], undefined],
  [[{ waited: 3_000, elapsed: 41_000, requests: 200 }, undefined, use], undefined],
  // The quota of the API held it up.
  [[{ waited: 39_000, elapsed: 41_000, requests: 50 }, undefined, use], undefined],
])('%j: %s', (given, said) => {
  expect(rateAdvice(...given)).toBe(said);
});
