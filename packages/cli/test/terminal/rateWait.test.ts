import { describe, expect, test } from 'vitest';
import { RateWait, rateAdvice } from '../../src/progress/rateWait.js';

type Step = readonly [at: number, type: 'request' | 'attempt' | 'retry' | 'settled', request: number, delay?: number];

function waitOf(
  steps: readonly (Step | readonly [at: number, type: 'paused', ms: number])[],
  end: number,
  parallel?: number,
) {
  const wait = new RateWait(parallel);
  for (const [at, type, value, delay = 0] of steps) {
    const event = type === 'paused' ? { type, for: value } : { type, request: value, delay };
    // The other fields of events do not count.
    wait.follow(event as Parameters<RateWait['follow']>[0], at);
  }
  return wait.total(end);
}

describe('the wait for the rate', () => {
  test.each<[string, Parameters<typeof waitOf>, number]>([
    ['is none without requests', [[], 100], 0],
    [
      'is none where requests start at once',
      [
        [
          [0, 'request', 1],
          [0, 'attempt', 1],
          [90, 'settled', 1],
        ],
        100,
      ],
      0,
    ],
    [
      'counts waits at the same time once',
      [
        [
          [0, 'request', 1],
          [5, 'request', 2],
          [30, 'attempt', 1],
          [50, 'attempt', 2],
        ],
        99,
      ],
      50,
    ],
    ['counts what still waits', [[[10, 'request', 1]], 99], 89],
    [
      'counts while another request is open',
      [
        [
          [0, 'request', 1],
          [0, 'attempt', 1],
          [10, 'request', 2],
          [40, 'attempt', 2],
        ],
        99,
      ],
      30,
    ],
    [
      'is none while as many are open as may be',
      [
        [
          [0, 'request', 1],
          [0, 'attempt', 1],
          [10, 'request', 2],
          [40, 'settled', 1],
          [60, 'attempt', 2],
        ],
        99,
        1,
      ],
      20,
    ],
    [
      'is none in a back-off, and counts from its end',
      [
        [
          [0, 'request', 1],
          [0, 'attempt', 1],
          [10, 'retry', 1, 50],
          [80, 'attempt', 1],
        ],
        99,
      ],
      20,
    ],
    [
      'is none in a pause',
      [
        [
          [0, 'request', 1],
          [20, 'paused', 30],
          [70, 'attempt', 1],
        ],
        99,
      ],
      40,
    ],
    [
      'ends with a request that is given up',
      [
        [
          [0, 'request', 1],
          [30, 'settled', 1],
        ],
        99,
      ],
      30,
    ],
  ])('%s', (_, given, expected) => {
    expect(waitOf(...given)).toBe(expected);
  });

  const use = { used: 5, limit: 5, per: 1_000 };
  test.each<[Parameters<typeof rateAdvice>, string | undefined]>([
    [
      [{ waited: 39_000, elapsed: 41_000 }, undefined, use],
      'Waited 39 s of 41 s for --rate (5/s, the default); raise it if your plan allows more.',
    ],
    [
      [
        { waited: 61_000, elapsed: 90_000 },
        { requests: 100, per: 60_000 },
        { used: 1, limit: 100, per: 60_000 },
      ],
      'Waited 1 min 1 s of 1 min 30 s for --rate (100/m); raise it if your plan allows more.',
    ],
    [[{ waited: 39_000, elapsed: 41_000 }, undefined, { used: 1, limit: 2, per: 1_000 }], undefined],
    [[{ waited: 39_000, elapsed: 41_000 }, false, undefined], undefined],
    [[{ waited: 999, elapsed: 1_000 }, undefined, use], undefined],
    [[{ waited: 3_000, elapsed: 41_000 }, undefined, use], undefined],
  ])('%j: %s', (given, said) => {
    expect(rateAdvice(...given)).toBe(said);
  });
});
