import type { FileSystem } from '@sluice/core/node';
import { describe, expect, test } from 'vitest';
import { someOf } from '../../../../scripts/testEffort.js';
import type { SimulatedDisk } from '../../../core/test/node/simulatedDisk.js';
import { segments } from '../../src/index.js';
import { MemoryHints } from './memoryHints.js';
import { folder, mergedRows, sharedDisk, TableRun } from './tableRun.js';

/** A worker's view of a disk. It stops at its n-th call, as by SIGSTOP, until somebody else has done something. */
function stopsAt(disk: SimulatedDisk, n: number, meanwhile: () => Promise<void>): FileSystem & { calls: () => number } {
  let calls = 0;
  const stopping = async <R>(call: () => Promise<R>): Promise<R> => {
    calls += 1;
    if (calls === n) await meanwhile();
    return call();
  };
  return {
    calls: () => calls,
    open: async (path, mode) => {
      const file = await stopping(() => disk.open(path, mode));
      return {
        ...file,
        write: (bytes, position) => stopping(() => file.write(bytes, position)),
        sync: () => stopping(() => file.sync()),
        close: () => stopping(() => file.close()),
      };
    },
    identity: (path) => stopping(() => disk.identity(path)),
    isOurs: (path) => disk.isOurs(path),
    volume: (path) => disk.volume(path),
    kind: (path) => disk.kind(path),
    rename: (from, to) => stopping(() => disk.rename(from, to)),
    link: (from, to) => stopping(() => disk.link(from, to)),
    unlink: (path) => stopping(() => disk.unlink(path)),
    makeFolder: (path) => stopping(() => disk.makeFolder(path)),
    removeFolder: (path) => disk.removeFolder(path),
    list: (path) => disk.list(path),
    syncFolder: (path) => stopping(() => disk.syncFolder(path)),
  };
}

/** One worker stops at each of its calls, and wakes up when another has run the same partition. */
async function outcomesAtEachCall(linkOf: (fileSystem: FileSystem) => FileSystem['link'], n: number) {
  const disk = sharedDisk();
  const table = new TableRun();
  const hints = new MemoryHints();
  const other = await table.submit(disk, hints);
  const outcomes: string[] = [];
  const stopping = stopsAt(disk, n, async () => {
    outcomes.push((await table.runPartition(other, 2)).outcome);
    await other.clean();
  });
  const fileSystem = { ...stopping, link: linkOf(stopping) };
  const run = await segments(folder, { fileSystem, hints }).open({ 'test.rows': table.open });
  outcomes.push(await table.runPartition(run, 2).then(({ outcome }) => outcome, String));
  for await (const partition of other.pending()) await table.runPartition(other, partition);
  return { outcomes, calls: stopping.calls(), rows: await mergedRows(disk), all: table.rows };
}

describe('a worker that is stopped and wakes up when another one has finished its partition', () => {
  test('K1 spoils nothing, stopped at its first call or before its last', async () => {
    const { calls } = await outcomesAtEachCall((fileSystem) => fileSystem.link, Infinity);
    for (const n of [1, calls - 1]) {
      const { outcomes, rows, all } = await outcomesAtEachCall((fileSystem) => fileSystem.link, n);
      expect(rows, `stopped at call ${n}`).toEqual(all);
      expect(outcomes.filter((outcome) => outcome === 'committed')).toHaveLength(1);
    }
  });

  test('K1 spoils nothing, at whatever call it was stopped', { tags: ['slow'] }, async () => {
    const { calls } = await outcomesAtEachCall((fileSystem) => fileSystem.link, Infinity);
    expect(calls).toBeGreaterThan(30);
    let refused = 0;
    for (const n of someOf(Array.from({ length: calls }, (_, at) => at + 1))) {
      const { outcomes, rows, all } = await outcomesAtEachCall((fileSystem) => fileSystem.link, n);
      expect(rows, `stopped at call ${n}`).toEqual(all);
      if (outcomes.length < 2) continue;
      expect(outcomes.filter((outcome) => outcome === 'committed')).toHaveLength(1);
      refused += outcomes[1] === 'refused' ? 1 : 0;
    }
    expect(refused).toBeGreaterThan(5);
  });

  test('K1 would commit a second time without the fence', { tags: ['slow'] }, async () => {
    const unfenced =
      (fileSystem: FileSystem): FileSystem['link'] =>
      (from, to) =>
        to.includes('/done/') ? fileSystem.rename(from, to) : fileSystem.link(from, to);
    const { calls } = await outcomesAtEachCall(unfenced, Infinity);
    let twice = 0;
    for (let n = 1; n <= calls; n += 1) {
      const { outcomes } = await outcomesAtEachCall(unfenced, n).catch(() => ({ outcomes: [] }));
      if (outcomes.filter((outcome) => outcome === 'committed').length > 1) twice += 1;
    }
    expect(twice).toBeGreaterThan(0);
  });
});
