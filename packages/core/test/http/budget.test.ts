import { describe, expect, test } from 'vitest';
import { casesOf } from '../../../../scripts/testEffort.js';
import { Random } from '../../../../test/kit/random.js';
import { freeAt, living, noBudget, reserve } from '../../src/http/limit/budgetRecord.js';
import { timeOf, withBoot } from '../../src/timeline.js';
import { BudgetMachine, worstWindow } from './budgetWorld.js';

const minute = 60_000;

describe('a budget that several processes share', () => {
  const title = 'L1 is never exceeded, whoever starts, dies, reboots or sets the clock';
  test(title, async () => {
    expect(await failures(1, 12)).toEqual([]);
  });

  test.each([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])(`${title} (%i)`, { tags: ['slow'] }, async (nth) => {
    expect(await failures(100 * nth, casesOf(100))).toEqual([]);
  });

  test.each([
    { processes: 1, requests: 30, per: minute, pause: 0, least: 0.95 },
    { processes: 1, requests: 500, per: 10_000, pause: 0, least: 0.95 },
    { processes: 1, requests: 200, per: minute, pause: 300, least: 0.95 },
    { processes: 4, requests: 200, per: minute, pause: 0, least: 0.9 },
    { processes: 4, requests: 200, per: minute, pause: 1_000, least: 0.9 },
    { processes: 4, requests: 30, per: 10_000, pause: 0, least: 0.9 },
  ])('is used by $processes of $requests in $per ms, with pauses of $pause', async (world) => {
    const { processes, requests, per, pause, least } = world;
    const random = randomOf(processes);
    const machine = new BudgetMachine({ limit: { requests, per }, random });
    const options = { requests: Infinity, parallel: pause === 0 ? 4 : 1, pause, connect: 5, arrive: 5 };
    for (let process = 0; process < processes; process += 1) machine.start(options);
    const windows = 6;
    const began = machine.now;
    await machine.runUntil(began + windows * per);
    // The last window of each is judged, since the first requests may all start at once.
    const used = machine.arrivals.filter(({ at }) => at >= began + per).length / ((windows - 1) * requests);
    expect(used).toBeGreaterThan(least);
    expect(worstWindow(machine.arrivals, per)).toBeLessThanOrEqual(requests);
  });

  test('L1 two limits of the same length have slices of their own', async () => {
    const limit = { requests: 10, per: 60 * minute, costs: { plain: 5, costly: 5 } };
    const machine = new BudgetMachine({ limit, other: { requests: 20, per: 60 * minute }, random: randomOf(1) });
    for (let run = 0; run < 5; run += 1) {
      machine.start({ requests: 1, parallel: 1, pause: 0, connect: 1, arrive: 1 });
      await machine.runUntil(machine.now + minute);
    }
    expect(machine.arrivals).toHaveLength(2);
  });

  test('L1 requests wait for a place that another process has locked', async () => {
    const machine = new BudgetMachine({ limit: { requests: 5, per: 60 * minute }, random: randomOf(1) });
    machine.isHeld = true;
    machine.start({ requests: 3, parallel: 1, pause: 0, connect: 1, arrive: 1 });
    await machine.runUntil(machine.now + 10 * minute);
    expect(machine.arrivals).toEqual([]);
    expect(machine.warnings).toEqual([expect.stringContaining('Requests wait for the budget of a rate limit')]);
    machine.isHeld = false;
    await machine.runUntil(machine.now + minute);
    expect(machine.arrivals).toHaveLength(3);
  });

  test('nothing is reserved for a process that has enough, however often it looks', async () => {
    const machine = new BudgetMachine({ limit: { requests: 500, per: 60 * minute }, random: randomOf(1) });
    machine.start({ requests: 8, parallel: 1, pause: 10_000, connect: 1, arrive: 1 });
    // Half of a slice is 36 s.
    await machine.runUntil(machine.now + 15_000);
    expect(machine.arrivals.length).toBeGreaterThan(1);
    expect(costOfRecord(machine)).toBe(10);
  });

  test('a place that is slower than a slice is long holds nothing up for ever', async () => {
    const machine = new BudgetMachine({ limit: { requests: 30, per: 10_000 }, random: randomOf(1), slowness: 300 });
    machine.start({ requests: 10, parallel: 1, pause: 0, connect: 1, arrive: 1 });
    await machine.runUntil(machine.now + 5 * minute);
    expect(machine.arrivals).toHaveLength(10);
  });

  test('a place that fails holds nothing up, and counts again when it works', async () => {
    const machine = new BudgetMachine({ limit: { requests: 5, per: 5 * minute }, random: randomOf(1) });
    machine.isBroken = true;
    machine.start({ requests: Infinity, parallel: 1, pause: 2_000, connect: 1, arrive: 1 });
    await machine.runUntil(machine.now + minute - 5_000);
    expect(machine.arrivals.length).toBeGreaterThan(20);
    expect(machine.warnings).toHaveLength(1);
    const unseen = machine.arrivals.length;
    machine.isBroken = false;
    await machine.runUntil(machine.now + minute);
    const sent = machine.arrivals.length;
    // What was sent meanwhile counts as well.
    expect(costOfRecord(machine)).toBeGreaterThanOrEqual(unseen);
    await machine.runUntil(machine.now + minute);
    expect(machine.arrivals).toHaveLength(sent);
  });

  test('a process that ends gives back what it has not used, and one that is killed does not', async () => {
    const machine = new BudgetMachine({ limit: { requests: 500, per: minute }, random: randomOf(1) });
    const options = { requests: 3, parallel: 1, pause: 0, connect: 1, arrive: 1 };
    machine.start(options);
    await machine.runUntil(machine.now + 1_000);
    expect(costOfRecord(machine)).toBe(3);
    const killed = machine.start({ ...options, requests: 4, pause: 2_000 });
    await machine.runUntil(machine.now + 300);
    machine.kill(killed);
    await machine.runUntil(machine.now + 30_000);
    // 500 / 50 are a slice.
    expect(costOfRecord(machine)).toBe(13);
  });
});

test('a budget that was used up knows since when it has returned', async () => {
  const machine = new BudgetMachine({ limit: { requests: 5, per: minute }, random: randomOf(1) });
  const process = machine.start({ requests: 6, parallel: 1, pause: 0, connect: 1, arrive: 1 });
  await machine.runUntil(machine.now + 1_000);
  const returnedFor = async (): Promise<number | undefined> => {
    const asked = process.budget.returnedFor();
    await machine.runUntil(machine.now + 100);
    return asked;
  };
  expect(await returnedFor()).toBeLessThan(-58_000);
  machine.kill(process);
  await machine.runUntil(machine.now + 2 * minute);
  // What others use meanwhile does not change that.
  machine.start({ requests: 1, parallel: 1, pause: 0, connect: 1, arrive: 1 });
  await machine.runUntil(machine.now + 1_000);
  const later = machine.start({ requests: 0, parallel: 1, pause: 0, connect: 1, arrive: 1 });
  const asked = later.budget.returnedFor();
  await machine.runUntil(machine.now + 100);
  expect(await asked).toBeGreaterThan(minute);
  expect(await asked).toBeLessThan(minute + 3_000);
});

describe('slices', () => {
  const window = { max: 5, span: minute };
  const slice = (to: number, cost: number) => ({ id: `${to}`, to, cost });

  test('a slice counts for a window and a second after its end', () => {
    expect(living([slice(1_000, 1)], window, 61_999)).toHaveLength(1);
    expect(living([slice(1_000, 1)], window, 62_000)).toHaveLength(0);
  });

  test.each([
    ['what is needed', [], window, 2, { cost: 2, to: 1_200 }],
    ['a fiftieth, if that is more', [], { max: 500, span: minute }, 2, { cost: 10, to: 1_200 }],
    ['no more than is free', [slice(0, 495)], { max: 500, span: minute }, 2, { cost: 5 }],
    ['nothing, if less is free than is needed', [slice(0, 4)], window, 2, undefined],
    ['nothing ahead, if a fiftieth is not a unit', [], window, 0, undefined],
  ])('reserves %s', (_, slices, of, need, wanted) => {
    const reserved = reserve(slices, of, { need, now: 0, lasts: 1_200, id: 'a' });
    if (wanted) expect(reserved).toMatchObject(wanted);
    else expect(reserved).toBeUndefined();
  });

  test('the budget returns when the oldest slices leave', () => {
    const slices = [slice(9_000, 2), slice(1_000, 1), slice(5_000, 2)];
    expect([1, 2, 3, 4, 5].map((need) => freeAt(slices, window, need))).toEqual([
      62_000, 66_000, 66_000, 70_000, 70_000,
    ]);
  });
});

describe("a record's time", () => {
  const record = { ...noBudget, saved: 5_000, wall: 900_000, boots: { a: { ahead: 4_000, at: 5_000 } } };

  test.each([
    [
      'goes on with the time since the boot, whatever the clock says',
      { id: 'a', uptime: 2_000, wall: 1 },
      6_000,
      4_000,
    ],
    ['counts the wall clock for another boot', { id: 'b', uptime: 50, wall: 901_000 }, 6_000, 5_950],
    ['never goes back', { id: 'b', uptime: 50, wall: 100 }, 5_000, 4_950],
    ['keeps its distance to a boot that is behind by rounding', { id: 'a', uptime: 995, wall: 1 }, 5_000, 4_000],
    ['counts the wall clock where boots have no id', { id: '', uptime: 50, wall: 901_000 }, 6_000, 5_950],
    ['catches up with a boot whose id is used again', { id: 'a', uptime: -1_500, wall: 1 }, 5_000, 6_500],
  ])('%s', (_, machine, now, ahead) => {
    expect(timeOf(record, machine)).toEqual({ now, ahead });
  });

  test('remembers the latest boots', () => {
    let boots: Readonly<Record<string, { ahead: number; at: number }>> = {};
    for (let at = 0; at < 50; at += 1) boots = withBoot(boots, `boot ${at}`, { ahead: 0, at });
    expect(Object.keys(boots)).toHaveLength(20);
    expect(boots['boot 49']).toEqual({ ahead: 0, at: 49 });
    expect(boots['boot 0']).toBeUndefined();
  });
});

function randomOf(seed: number): () => number {
  const source = new Random(seed);
  return () => source.next();
}

function costOfRecord({ record = '{}' }: BudgetMachine): number {
  const { slices = {} } = JSON.parse(record) as { slices?: Record<string, { cost: number }[]> };
  return Object.values(slices)
    .flat()
    .reduce((sum, { cost }) => sum + cost, 0);
}

async function failures(first: number, count: number): Promise<object[]> {
  const failed: object[] = [];
  for (let seed = first; seed < first + count; seed += 1) {
    const played = await play(seed);
    if (played.worst > played.limit.requests || played.otherWorst > (played.other?.requests ?? Infinity))
      failed.push({ seed, ...played });
  }
  return failed;
}

/** Processes of one machine that start, end and are killed at random. */
async function play(seed: number) {
  const source = new Random(seed);
  const random = (): number => source.next();
  const per = source.pick([10_000, minute, 60 * minute]);
  const requests = source.pick([1, 5, 30, 200]);
  const limit = { requests, per, ...(requests > 4 && source.chance(0.3) && { costs: { costly: 3 } }) };
  const otherCosts = source.chance(0.5) ? { costly: 5 } : {};
  const other = source.chance(0.3) ? { requests: source.pick([6, 40]), per, costs: otherCosts } : undefined;
  const machine = new BudgetMachine({ limit, other, random });
  const end = machine.now + 3 * per;
  while (machine.now < end) {
    const what = random();
    if (what < 0.5 && machine.running < 4)
      machine.start({
        requests: Math.ceil(random() * 1.5 * requests),
        parallel: source.pick([1, 4]),
        pause: source.pick([0, 1, (4 * per) / requests]),
        connect: source.pick([1, 300, per / 20]),
        arrive: Math.min(1_000, per / 50),
      });
    else if (what < 0.65) machine.killOne();
    else if (what < 0.75) machine.step((random() - 0.5) * 3 * per);
    else if (what < 0.8) machine.reboot(random() * per);
    await machine.runUntil(machine.now + random() * source.pick([50, per / 20, per / 3]));
  }
  const ofOther = machine.arrivals.map(({ at, otherCost: cost }) => ({ at, cost }));
  return { worst: worstWindow(machine.arrivals, per), limit, otherWorst: worstWindow(ofOther, per), other };
}
