import { dirname } from 'node:path';
import { describe, expect, test } from 'vitest';
import { someOf } from '../../../../scripts/testEffort.js';
import { HttpError } from '../../src/index.js';
import { fileOf, type OnFetch } from './partitionRows.js';
import { simulatedDisk, type SimulatedDisk } from './simulatedDisk.js';
import { newStates } from './simulatedDisk/newStates.js';
import type { RestartMode } from './simulatedDisk/survivors.js';
import { runOn, target, textOn, type Scenario } from './simulatedExport.js';

const old = 'rows\nan old row\n';
/** What may be left after a cut at the n-th call; of what was not durable, other pieces for each. */
const modesAt = (n: number): RestartMode[] => [
  ...(['killed', 'all', 'dropped', 'names', 'bytes'] as const),
  ...[0, 1, 2, 3].map((nth) => ({ seed: 4 * n + nth })),
];

/** Three pages, and what can be done with them. */
const scenarios: readonly (readonly [string, Scenario])[] = [
  ['one part', { partitions: [[2, 2, 2]] }],
  ['one part, over an existing file', { partitions: [[2, 2, 2]], ifExists: 'overwrite' }],
  ['one part, compressed', { partitions: [[2, 2, 2]], gzip: { pagesPerMember: 2 } }],
  ['one part, with its state in another folder', { partitions: [[2, 2, 2]], stateFolder: '/state/rows' }],
  [
    'three parts with a concurrency of 3, with its state in another folder',
    { partitions: [[2, 2, 2], [2, 2], [2]], concurrency: 3, stateFolder: '/state/rows' },
  ],
  ['three parts with a concurrency of 2', { partitions: [[2], [2], [2]], concurrency: 2 }],
  [
    'two parts with a concurrency of 2, compressed',
    { partitions: [[2], [2, 2]], concurrency: 2, gzip: { pagesPerMember: 2 } },
  ],
  [
    'two parts with a concurrency of 2, over an existing file',
    { partitions: [[2, 2], [2]], concurrency: 2, ifExists: 'overwrite' },
  ],
  [
    'two parts with a concurrency of 2, behind the rows of an existing file',
    { partitions: [[2, 2], [2]], concurrency: 2, ifExists: 'append' },
  ],
];

function emptyDisk(scenario: Scenario, ...hook: Parameters<typeof simulatedDisk>): SimulatedDisk {
  const disk = simulatedDisk(...hook);
  if (scenario.ifExists) disk.put(target, old);
  else disk.putFolder('/data');
  if (scenario.stateFolder !== undefined) disk.putFolder(dirname(scenario.stateFolder));
  return disk;
}

/** Runs it until the machine stops. Some of its last calls may fail: it would be told that it is done, if it still ran. */
async function stopped(disk: SimulatedDisk, scenario: Scenario, onFetch?: OnFetch): Promise<void> {
  await runOn(disk, scenario, onFetch).catch(() => undefined);
  expect(disk.isStopped).toBe(true);
}

/** E2: whatever has the final name is the old file, or the whole new one. */
function checkFinalName(disk: SimulatedDisk, scenario: Scenario): void {
  expect([scenario.ifExists ? old : undefined, wholeOf(scenario)]).toContain(textOn(disk));
}

/** The file in the end. */
function wholeOf({ partitions, ifExists }: Scenario): string {
  const rows = fileOf(partitions);
  return ifExists === 'append' ? old + rows.slice('rows\n'.length) : rows;
}

/** Runs it to its end, and sees that the file is whole, durable, and all that is left but for the record that it is finished. */
async function finish(disk: SimulatedDisk, scenario: Scenario): Promise<void> {
  const { stateFolder = `${target}.sluice` } = scenario;
  const whole = wholeOf(scenario);
  await runOn(disk, scenario);
  expect(textOn(disk)).toBe(whole);
  const record = [`${stateFolder}/`, `${stateFolder}/checkpoint`];
  expect(disk.paths().filter((path) => path !== '/state/')).toEqual(['/data/', target, ...record]);
  const left = disk.restart('dropped');
  expect(textOn(left)).toBe(whole);
  if (scenario.ifExists === 'overwrite') return;
  const again = await runOn(left, scenario, () => {
    throw new Error('A finished export asked for a page.');
  });
  expect(again.finishedAt).toBeDefined();
}

describe.each(scenarios)('E3 a three-page export of %s', { tags: ['slow'] }, (kind, scenario) => {
  const first = scenarios.findIndex(([other]) => other === kind);

  test('gives the same bytes when it is cut at any call, whatever of the unsynced is lost, torn or out of order', async () => {
    const dry = emptyDisk(scenario);
    await finish(dry, scenario);
    expect(dry.calls.length).toBeGreaterThan(60);
    const isNew = newStates();
    for (const { n, name } of someOf(dry.calls, first)) {
      for (const cut of ['after', ...(name === 'write' ? [3] : [])] as const) {
        const disk = emptyDisk(scenario, (call) => (call.n === n ? { cut } : undefined));
        await stopped(disk, scenario);
        // A cut before the next call leaves the same disk.
        for (const mode of [...modesAt(n), ...modesAt(n + 1)]) {
          const left = disk.restart(mode);
          checkFinalName(left, scenario);
          if (isNew(left)) await finish(left, scenario);
        }
      }
    }
  });

  test('gives the same bytes when it is killed at any call, and the next run is cut at any call', async () => {
    const dry = emptyDisk(scenario);
    await runOn(dry, scenario);
    const isNew = newStates();
    for (const { n, name } of someOf(dry.calls, first + 1)) {
      const disk = emptyDisk(scenario, (call) => (call.n === n ? { cut: 'after' } : undefined));
      await stopped(disk, scenario);
      const snapshots: SimulatedDisk[] = [];
      const next: SimulatedDisk = disk.restart('killed', (call) => {
        // All of them would take minutes: after most kills it is one call in six, each time others.
        if (name === 'link') for (let seed = 0; seed < 20; seed += 1) snapshots.push(next.restart({ seed }));
        else if ((call.n + n) % 6 === 0) snapshots.push(next.restart(n % 2 === 0 ? 'dropped' : { seed: n + call.n }));
        return undefined;
      });
      await runOn(next, scenario).catch(() => undefined);
      for (const snapshot of snapshots) {
        checkFinalName(snapshot, scenario);
        if (isNew(snapshot)) await finish(snapshot, scenario);
      }
    }
  });
});

test('E3 an export that fails before its first commit, and clears away what it began, is cut at any call', async () => {
  const scenario: Scenario = { partitions: [[2], [2, 2]], concurrency: 2, commitEvery: 10 };
  const failing: OnFetch = (_part, page) => {
    if (page > 0) throw new Error('broken');
  };
  const dry = emptyDisk(scenario);
  await expect(runOn(dry, scenario, failing)).rejects.toThrow('broken');
  expect(dry.paths()).toEqual(['/data/']);
  const isNew = newStates();
  for (const { n } of someOf(dry.calls)) {
    const disk = emptyDisk(scenario, (call) => (call.n === n ? { cut: 'after' } : undefined));
    await runOn(disk, scenario, failing).catch(() => undefined);
    for (const mode of modesAt(n)) {
      const left = disk.restart(mode);
      if (isNew(left)) await finish(left, scenario);
    }
  }
});

test('E7 taking back a part is cut at any call, and neither loses nor doubles a row', { tags: ['slow'] }, async () => {
  const scenario: Scenario = { partitions: [[2], [2, 2, 2], [2]], concurrency: 2, onExpired: 'restart-partition' };
  const expiring = (): OnFetch => {
    let left = 1;
    return (partition, page) => {
      if (partition === 1 && page === 2 && (left -= 1) >= 0) throw new HttpError('gone', { status: 410, excerpt: '' });
    };
  };
  const dry = emptyDisk(scenario);
  await runOn(dry, scenario, expiring());
  expect(textOn(dry)).toBe(fileOf(scenario.partitions));
  const isNew = newStates();
  for (const { n } of someOf(dry.calls)) {
    const disk = emptyDisk(scenario, (call) => (call.n === n ? { cut: 'after' } : undefined));
    await stopped(disk, scenario, expiring());
    for (const mode of modesAt(n)) {
      const left = disk.restart(mode);
      if (isNew(left)) await finish(left, scenario);
    }
  }
});
