import { describe, expect, test } from 'vitest';
import { someOf } from '../../../../scripts/testEffort.js';
import type { SimulatedFault } from '../../../core/test/node/simulatedDisk/diskCalls.js';
import type { RestartMode } from '../../../core/test/node/simulatedDisk/survivors.js';
import { MemoryHints } from './memoryHints.js';
import { mergedRows, sharedDisk, TableRun } from './tableRun.js';

/** What may be left after a cut at the n-th call; of what was not durable, other pieces for each. */
const modesAt = (n: number): RestartMode[] => [
  ...(['killed', 'all', 'dropped', 'names', 'bytes'] as const),
  ...[0, 1, 2].map((nth) => ({ seed: 3 * n + nth })),
];

/** The calls that a run makes to the disk. */
async function callsOfARun(): Promise<number> {
  const disk = sharedDisk();
  await new TableRun().finish(disk);
  return disk.calls.length;
}

const numbersTo = (count: number): number[] => Array.from({ length: count }, (_, at) => at + 1);

describe('a run whose machine stops', () => {
  test(
    'K1 K4 loses no row and doubles none, at whatever call the power is cut, and whatever is lost',
    { tags: ['slow'] },
    async () => {
      for (const n of someOf(numbersTo(await callsOfARun()))) {
        const table = new TableRun();
        const hints = new MemoryHints();
        const disk = sharedDisk((call) => (call.n === n ? { cut: n % 2 === 0 ? 'before' : 'after' } : undefined));
        await table.finish(disk, hints).catch(() => undefined);
        expect(disk.isStopped).toBe(true);
        for (const mode of someOf(modesAt(n), n)) {
          const left = disk.restart(mode);
          // The hints outlive the machine, or not.
          const known = new MemoryHints();
          for (const [partition, hint] of n % 3 === 0 ? [] : hints.saved) known.saved.set(partition, hint);
          await table.finish(left, known);
          expect(await mergedRows(left), `cut at call ${n}, ${JSON.stringify(mode)}`).toEqual(table.rows);
          expect(await mergedRows(left.restart('dropped'))).toEqual(table.rows);
        }
      }
    },
  );

  test('K1 K4 loses no row and doubles none, whichever call to the disk fails', { tags: ['slow'] }, async () => {
    const faults: SimulatedFault[] = [{ code: 'EIO' }, { code: 'EIO', when: 'after' }];
    const cases = numbersTo(await callsOfARun()).flatMap((n) => faults.map((fault) => ({ n, fault })));
    for (const { n, fault } of someOf(cases, 1)) {
      const table = new TableRun();
      const hints = new MemoryHints();
      const disk = sharedDisk((call) => (call.n === n ? fault : undefined));
      await table.finish(disk, hints).catch(() => undefined);
      await table.finish(disk, hints);
      expect(await mergedRows(disk), `${JSON.stringify(fault)} at call ${n}`).toEqual(table.rows);
    }
  });
});
