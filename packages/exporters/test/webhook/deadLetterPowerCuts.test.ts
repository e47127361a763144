import fc from 'fast-check';
import { expect, test } from 'vitest';
import { casesOf, someOf } from '../../../../scripts/testEffort.js';
import { simulatedDisk, type SimulatedDisk } from '../../../core/test/node/simulatedDisk.js';
import { newStates } from '../../../core/test/node/simulatedDisk/newStates.js';
import type { RestartMode } from '../../../core/test/node/simulatedDisk/survivors.js';
import { newProcess } from '../../../core/test/node/simulatedExport.js';
import type { FiledPosition } from '../../src/webhook/letters/deadLetterFile.js';
import { fileLetters, idsIn, letterOf, openLetters } from './deadLetterSamples.js';

const path = '/data/dead.jsonl';
/** More than a sector each, so that a torn one can have holes. */
const letter = (n: number): ReturnType<typeof letterOf> => letterOf(n, { record: String(n).repeat(1_500) });

/** What an export knows for sure, when its machine stops. */
interface Memory {
  position: FiledPosition | undefined;
  /** Ids whose letters it was told to be durable: those before its commit, and those behind. */
  committed: string[];
  filed: string[];
}

/** Goes on at its position, files letters, and commits behind every second one. */
async function run(disk: SimulatedDisk, memory: Memory, letters: readonly number[]): Promise<void> {
  const options = { fileSystem: disk, claims: newProcess(), ...(memory.position && { position: memory.position }) };
  // From here on what was not committed may be taken back.
  memory.filed = [...memory.committed];
  const file = await openLetters(path, options);
  memory.position = file.position;
  for (const [index, n] of letters.entries()) {
    await file.append(letter(n));
    memory.filed.push(letter(n).id);
    if (index % 2 === 0) continue;
    memory.position = file.position;
    memory.committed = [...memory.filed];
  }
  await file.close();
}

async function idsOn(disk: SimulatedDisk): Promise<string[]> {
  return disk.bytes(path) ? idsIn(path, disk) : [];
}

const modesAt = (n: number): RestartMode[] => [
  ...(['killed', 'all', 'dropped', 'names', 'bytes'] as const),
  ...[0, 1, 2, 3].map((nth) => ({ seed: 4 * n + nth })),
];

function freshDisk(...hook: Parameters<typeof simulatedDisk>): SimulatedDisk {
  const disk = simulatedDisk(...hook);
  disk.putFolder('/data');
  return disk;
}

test.each([
  ['a new file', []],
  ["another export's file", [90, 91]],
])(
  'W9 %s is cut at any call of an export: what was filed is there, what comes next is glued to nothing',
  { tags: ['slow'] },
  async (_, others) => {
    const prepared = async (...hook: Parameters<typeof simulatedDisk>): Promise<SimulatedDisk> => {
      const disk = freshDisk();
      await fileLetters(path, others.map(letter), { fileSystem: disk });
      return disk.restart('all', ...hook);
    };
    const before = others.map((n) => letter(n).id);
    const dry = await prepared();
    await run(dry, { position: undefined, committed: [], filed: [] }, [1, 2, 3]);
    expect(dry.calls.length).toBeGreaterThan(30);
    const isNew = newStates();
    for (const { n, name } of someOf(dry.calls)) {
      for (const cut of ['before', 'after', ...(name === 'write' ? [3, 700] : [])] as const) {
        const memory: Memory = { position: undefined, committed: [], filed: [] };
        const disk = await prepared((call) => (call.n === n ? { cut } : undefined));
        await run(disk, memory, [1, 2, 3]).catch(() => undefined);
        expect(disk.isStopped).toBe(true);
        for (const mode of modesAt(n)) {
          const left = disk.restart(mode);
          const found = await idsOn(left);
          const known = [...before, ...memory.filed];
          // One more may have got there whose export was not told.
          expect([known, [...known, letter(memory.filed.length + 1).id]]).toContainEqual(found);
          if (!isNew(left, memory)) continue;
          const next = { ...memory };
          await run(left, next, [7, 8]);
          const all = [...before, ...memory.committed, 'record-7', 'record-8'];
          // Without a committed position nobody knows whose the letters are: they stay.
          if (memory.position) expect(await idsOn(left)).toEqual(all);
          else expect(await idsOn(left)).toEqual([...found, 'record-7', 'record-8']);
          expect(await idsOn(left.restart('dropped'))).toEqual(await idsOn(left));
          expect(left.paths()).toEqual(['/data/', path]);
        }
      }
    }
  },
);

test(
  'W9 any sequence of exports, kills and power cuts keeps every letter that was committed, each once and whole',
  { tags: ['slow'] },
  async () => {
    const step = fc.record({
      after: fc.nat({ max: 60 }),
      letters: fc.nat({ max: 5 }),
      mode: fc.oneof(fc.constantFrom('killed', 'all', 'dropped', 'names', 'bytes'), fc.record({ seed: fc.nat() })),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 6 }), async (steps) => {
        let disk: SimulatedDisk = freshDisk();
        const memory: Memory = { position: undefined, committed: [], filed: [] };
        let n = 0;
        for (const { after, letters, mode } of steps) {
          const running = disk.restart('killed', (call) => (call.n === after + 1 ? { cut: 'after' } : undefined));
          await run(
            running,
            memory,
            Array.from({ length: letters }, () => (n += 1)),
          ).catch(() => undefined);
          disk = running.restart(mode);
          expect((await idsOn(disk)).slice(0, memory.filed.length)).toEqual(memory.filed);
        }
        await run(disk, memory, [1_001, 1_002]);
        expect(await idsOn(disk)).toEqual(memory.committed);
      }),
      { numRuns: casesOf(200) },
    );
  },
);
