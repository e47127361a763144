import { describe, expect, test } from 'vitest';
import { Random } from '../../../../test/kit/random.js';
import { RecentSecrets } from '../../src/auth/recentSecrets.js';
import { Secrets } from '../../src/kit.js';
import { FakeClock } from '../fakeClock.js';

const hour = 3_600_000;
/** No two of them share half, which is redacted by itself. */
const tokenOf = (nth: number): string => {
  const digits = String(nth).padStart(5, '0');
  return `${digits}-token-${digits}`;
};

/** Which tokens are redacted after each of them was replaced so many ms after the one before. */
async function keptAfter(gaps: readonly number[], echoedFor: number): Promise<number[]> {
  const secrets = new Secrets();
  const clock = new FakeClock(() => Promise.resolve());
  const recent = new RecentSecrets(secrets, clock, echoedFor);
  recent.replace([tokenOf(0)]);
  for (const [at, gap] of gaps.entries()) {
    await clock.advance(gap);
    recent.replace([tokenOf(at + 1)]);
  }
  return Array.from({ length: gaps.length + 1 }, (_, nth) => nth).filter((nth) => secrets.has(tokenOf(nth)));
}

const every = (ms: number, times: number): number[] => Array.from({ length: times }, () => ms);
const newest = (count: number, of: number): number[] => Array.from({ length: count }, (_, nth) => of - count + nth);

describe('A1 secrets that were replaced', () => {
  test.each<[string, number[], number, number[]]>([
    ['stay for an hour if they are few', every(hour / 10, 20), 180_000, newest(11, 21)],
    ['stay as long as they may be quoted, however many', every(1_000, 400), 180_000, newest(181, 401)],
    ['stay in any case if they are the newest hundred', every(10_000, 400), 180_000, newest(101, 401)],
    ['go after an hour, however long requests may take', every(10_000, 500), Infinity, newest(361, 501)],
  ])('%s', async (_, gaps, echoedFor, kept) => {
    expect(await keptAfter(gaps, echoedFor)).toEqual(kept);
  });

  test(
    'are never forgotten while a response may quote them, whenever they were replaced',
    { tags: ['slow'] },
    async () => {
      const random = new Random('recent secrets');
      for (let round = 0; round < 10; round += 1) {
        const gaps = Array.from({ length: 250 }, () => random.int(0, 2_000));
        const kept = await keptAfter(gaps, 120_000);
        const ages = gaps.map((_, nth) => gaps.slice(nth + 1).reduce((sum, gap) => sum + gap, 0));
        const quoted = ages.flatMap((age, nth) => (age < 120_000 ? [nth] : []));
        expect(kept).toEqual(expect.arrayContaining([...quoted, 250]));
        expect(kept.length).toBeLessThanOrEqual(Math.max(quoted.length, 100) + 1);
      }
    },
  );
});
