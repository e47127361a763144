import { describe, expect, test } from 'vitest';
import { jobPlans, type JobPlan } from './jobPlan.js';
import type { Kill } from './kill.js';
import { isBetweenRowsAndSeal, isPast, isRepeated, phases, type Phase } from './phases.js';

/** The jobs that a run starts until that many kills are planned. */
function jobsFor(kills: number, seed: number): JobPlan[] {
  const jobs: JobPlan[] = [];
  let planned = 0;
  for (const job of jobPlans(seed)) {
    jobs.push(job);
    planned += job.kills.length;
    if (planned >= kills) break;
  }
  return jobs;
}

function phaseOf(kill: Kill): Phase {
  return kill.at === 'request' ? 'fetching' : kill.point.phase;
}

const seeds = Array.from({ length: 300 }, (_, seed) => seed);

test('the same seed plans the same jobs, another seed plans others', () => {
  expect(jobsFor(60, 7)).toEqual(jobsFor(60, 7));
  expect(jobsFor(60, 7)).not.toEqual(jobsFor(60, 8));
});

test.each([24, 60, 200])(
  '%i kills are aimed at every phase, and at most a fifth of them before the rows or from the seal on',
  { tags: ['slow'] },
  (kills) => {
    for (const seed of seeds) {
      const aims = jobsFor(kills, seed).flatMap((job) => job.kills.map(phaseOf));
      expect(new Set(aims), `seed ${seed}`).toEqual(new Set(phases));
      const share = aims.filter(isBetweenRowsAndSeal).length / aims.length;
      expect(share, `seed ${seed}`).toBeGreaterThanOrEqual(0.8);
    }
  },
);

test('eight jobs in a row have every format with a concurrency of one and of four', () => {
  for (const seed of seeds) {
    const jobs = jobsFor(60, seed).slice(0, 8);
    expect(new Set(jobs.map(({ format, concurrency }) => `${format} ${concurrency}`)).size).toBe(8);
  }
});

describe('the kills of one job', () => {
  const jobs = seeds.flatMap((seed) => jobsFor(60, seed));

  test('come in an order in which one export can encounter them', () => {
    for (const { kills } of jobs) {
      const aims = kills.map(phaseOf);
      const fromSeal = aims.filter((phase) => isPast(phase, 'fetching'));
      expect(aims.slice(aims.length - fromSeal.length)).toEqual(fromSeal);
      for (const [nth, phase] of fromSeal.entries()) expect(isPast(fromSeal[nth - 1] ?? 'fetching', phase)).toBe(false);
    }
  });

  test('hit resuming only after a run that has committed', () => {
    const going = jobs.filter(({ kills }) => kills.some((kill) => phaseOf(kill) === 'going on'));
    expect(going.length).toBeGreaterThan(100);
    for (const { kills, commitEvery } of going) {
      const nth = kills.findIndex((kill) => phaseOf(kill) === 'going on');
      const rows = kills.slice(0, nth).find((kill) => isRepeated(phaseOf(kill)));
      const pages = rows?.at === 'operation' ? rows.point.afterPages : rows?.nth;
      expect(pages).toBeGreaterThan(commitEvery);
    }
  });

  test('hit segments only if a concurrency above 1 creates some', () => {
    for (const { kills, concurrency } of jobs)
      if (concurrency === 1) expect(kills.map(phaseOf)).not.toContain('writing segments');
  });
});
