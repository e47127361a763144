import { createClient, type Limit } from '@sluice/core';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Random } from '../../../test/kit/random.js';
import { aptos } from '../src/index.js';

/** Ms that a request takes, and rows of a page. */
const latency = 60;
const pageSize = 100;

interface Case {
  readonly concurrency: number;
  readonly perSecond: number;
  readonly order: 'first' | 'last' | 'shuffled';
}

const cases = [8, 16, 32].flatMap((concurrency) =>
  [5, 10, 20, 30, 33, 50, 100, Infinity].flatMap((perSecond) =>
    (['first', 'last', 'shuffled'] as const).map((order): Case => ({ concurrency, perSecond, order })),
  ),
);

describe('P8 many wallets with a few large ones', () => {
  test.each(cases)(
    'take no longer in groups than one by one: $concurrency at once, $perSecond a second, the large ones $order',
    ({ concurrency, perSecond, order }) => {
      const sizes = sizesIn(order, [4, 4_000], [12, 800], [48, 60]);
      const loop = time(sizes.map(pagesOf), concurrency, perSecond);
      const grouped = groupsOf(sizes, concurrency, perSecond).map((group) => pagesOf(sum(group)));
      expect(loop / time(grouped, concurrency, perSecond)).toBeGreaterThanOrEqual(0.95);
    },
  );

  test.each([
    { wallets: 1_000, concurrency: 8, perSecond: 5, requests: 100 },
    { wallets: 1_000, concurrency: 8, perSecond: 25, requests: 100 },
    { wallets: 200, concurrency: 4, perSecond: 10, requests: 20 },
    { wallets: 200, concurrency: 4, perSecond: 100, requests: 200 },
    { wallets: 200, concurrency: 4, perSecond: Infinity, requests: 200 },
  ])('of five rows each save requests where a limit binds: $requests of $wallets at $perSecond a second', (plan) => {
    const groups = groupsOf(sizesIn('first', [plan.wallets, 5]), plan.concurrency, plan.perSecond);
    expect(sum(groups.map((group) => pagesOf(sum(group))))).toBe(plan.requests);
  });

  test('go by the slowest of several limits', () => {
    const limits = [
      { requests: 100, per: 1_000 },
      { requests: 600, per: 60_000 },
    ];
    expect(groupSize(200, 4, limits)).toBe(10);
    expect(groupSize(200, 4, limits.slice(0, 1))).toBe(1);
  });
});

/** Rows of each wallet, the largest first or last. */
function sizesIn(order: Case['order'], ...kinds: readonly (readonly [count: number, rows: number])[]): number[] {
  const sizes = kinds.flatMap(([count, rows]) => Array.from({ length: count }, () => rows));
  if (order === 'shuffled') return new Random('wallets').shuffle(sizes);
  return order === 'first' ? sizes : sizes.toReversed();
}

function groupsOf(sizes: readonly number[], concurrency: number, perSecond: number): number[][] {
  const limit = perSecond === Infinity ? false : { requests: perSecond, per: 1_000 };
  const size = groupSize(sizes.length, concurrency, limit);
  return Array.from({ length: Math.ceil(sizes.length / size) }, (_, nth) => sizes.slice(nth * size, (nth + 1) * size));
}

/** Wallets in a request of an export. */
function groupSize(wallets: number, concurrency: number, rateLimit: Limit | readonly Limit[] | false): number {
  const client = createClient({ apiKey: 'key-of-a-test', rateLimit }).use(aptos({ baseUrl: 'https://api.example' }));
  onTestFinished(() => client.close());
  const ownerAddresses = Array.from({ length: wallets }, (_, nth) => `0x${(nth + 1).toString(16)}`);
  const { source } = client.aptos.nfts({ ownerAddresses }).fit(concurrency);
  return Math.ceil(wallets / (source.info.partitions ?? 1));
}

const sum = (all: readonly number[]): number => all.reduce((total, each) => total + each, 0);
const pagesOf = (rows: number): number => Math.max(1, Math.ceil(rows / pageSize));

/** Ms until chains of so many pages are fetched, in their order, so many at once, at most so many in each second. */
function time(chains: readonly number[], concurrency: number, perSecond: number): number {
  const starts: number[] = [];
  const waiting = [...chains];
  let running = waiting.splice(0, concurrency).map((left) => ({ left, at: 0 }));
  let end = 0;
  while (running.length > 0) {
    const [next, ...others] = running.toSorted((a, b) => a.at - b.at);
    if (!next) break;
    const start = Math.max(next.at, (starts.at(-perSecond) ?? -Infinity) + 1_000);
    starts.push(start);
    end = Math.max(end, start + latency);
    const left = next.left > 1 ? next.left - 1 : waiting.shift();
    running = left === undefined ? others : [...others, { left, at: start + latency }];
  }
  return end;
}
