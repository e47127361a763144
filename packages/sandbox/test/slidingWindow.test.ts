import { describe, expect, test } from 'vitest';
import { draws } from '../src/served/random.js';
import { SlidingWindow } from '../src/slidingWindow.js';
import { startSandbox } from '../src/index.js';
import { ask } from './ask.js';

describe('the rate limit', () => {
  test('lets no window hold more than its requests, however they arrive', () => {
    const gap = draws(1, 'gap');
    const window = new SlidingWindow({ requests: 5, per: 100 });
    const admitted: number[] = [];
    const roomAt = (now: number): boolean => admitted.filter((at) => at > now - 100).length < 5;
    for (let index = 0, now = 0; index < 2_000; index++) {
      now += gap(index) % 40;
      const wait = window.arrive(now);
      if (wait === 0) admitted.push(now);
      else expect([roomAt(now + wait), roomAt(now + wait - 1)]).toEqual([true, false]);
    }
    for (const [index, at] of admitted.entries())
      expect(at - (admitted[index - 5] ?? -100)).toBeGreaterThanOrEqual(100);
    expect(admitted.length).toBeGreaterThan(500);
  });

  test('answers 429 with the whole seconds to wait; refused requests do not count', async () => {
    let now = 0;
    await using sandbox = await startSandbox({ rateLimit: { requests: 2, per: 2_000 }, now: () => now });
    const arrivals: [number, number, string | null][] = [];
    for (const at of [0, 500, 900, 1_999, 2_000, 2_400, 2_500]) {
      now = at;
      const answer = await ask(sandbox, 'streams');
      arrivals.push([at, answer.status, answer.headers.get('retry-after')]);
    }
    expect(arrivals).toEqual([
      [0, 200, null],
      [500, 200, null],
      [900, 429, '2'],
      [1_999, 429, '1'],
      [2_000, 200, null],
      [2_400, 429, '1'],
      [2_500, 200, null],
    ]);
    expect(sandbox.counts).toMatchObject({ requests: 7, rateLimited: 3, byStatus: { 200: 4, 429: 3 } });
  });

  test('is one for both endpoints, and a wrong key uses none of it', async () => {
    await using sandbox = await startSandbox({ rateLimit: { requests: 2, per: 3_600_000 } });
    const statuses = [
      (await ask(sandbox, 'aptos', {}, { headers: {} })).status,
      (await ask(sandbox, 'aptos')).status,
      (await ask(sandbox, 'streams')).status,
      (await ask(sandbox, 'aptos')).status,
    ];
    expect(statuses).toEqual([401, 200, 200, 429]);
  });
});
