import { expect, test } from 'vitest';
import { faultAt } from './faultAt.js';

test('one request in 20 fails, in one of several ways, and always the same requests', () => {
  const faults = Array.from({ length: 20_000 }, (_, n) => faultAt('7 job 1', `cursor=${n}`, 1));
  const met = faults.filter((fault) => fault !== undefined);
  expect(met.length).toBeGreaterThan(900);
  expect(met.length).toBeLessThan(1_100);
  expect(new Set(met.map(({ kind }) => kind))).toEqual(new Set(['status', 'reset', 'cut-body']));
  expect(faults).toEqual(Array.from({ length: 20_000 }, (_, n) => faultAt('7 job 1', `cursor=${n}`, 1)));
});

test('another attempt and another seed have other faults', () => {
  const share = (seed: string, attempt: number): number =>
    Array.from({ length: 20_000 }, (_, n) => n).filter(
      (n) => faultAt('7 job 1', `cursor=${n}`, 1) && faultAt(seed, `cursor=${n}`, attempt),
    ).length;
  expect(share('7 job 1', 2)).toBeLessThan(100);
  expect(share('8 job 1', 1)).toBeLessThan(100);
});
