import { expect, test } from 'vitest';
import { someOf } from '../../../../scripts/testEffort.js';
import { simulatedDisk, type SimulatedDisk } from '../../../core/test/node/simulatedDisk.js';
import { newStates } from '../../../core/test/node/simulatedDisk/newStates.js';
import type { RestartMode } from '../../../core/test/node/simulatedDisk/survivors.js';
import { newProcess } from '../../../core/test/node/simulatedExport.js';
import type { ReplayCounts } from '../../src/webhook/letters/replay.js';
import { fileLetters, idsIn, letterOf, refusal, replayDeadLetters } from './deadLetterSamples.js';

const path = '/data/dead.jsonl';
const letters = [
  letterOf(1, { key: 'a' }),
  letterOf(2, { key: 'b' }),
  letterOf(3, { key: 'a' }),
  letterOf(4),
  letterOf(5, { key: 'b' }),
];

/** What the endpoint has taken, in order. It loses nothing when the sender's power is cut. */
class Endpoint {
  readonly taken: string[] = [];
  readonly refuses: ReadonlySet<string>;

  constructor(refuses: readonly string[] = [], taken: readonly string[] = []) {
    this.refuses = new Set(refuses);
    this.taken.push(...taken);
  }

  replay(disk: SimulatedDisk, deliveries: number): Promise<ReplayCounts> {
    return replayDeadLetters(path, {
      fileSystem: disk,
      claims: newProcess(),
      deliveries,
      send: async ({ id, body }) => {
        expect(body).toBe(JSON.stringify(letters.find((letter) => letter.id === id)?.record));
        // A machine that has stopped sends nothing.
        if (disk.isStopped) throw new Error('no power');
        if (this.refuses.has(id)) throw refusal(422);
        this.taken.push(id);
      },
    });
  }
}

const base = simulatedDisk();
base.putFolder('/data');
await fileLetters(path, letters, { fileSystem: base });
const before = base.text(path);

/** A disk with the letters, and nothing that is not durable. */
function filed(...hook: Parameters<typeof simulatedDisk>): SimulatedDisk {
  return base.restart('all', ...hook);
}

const modesAt = (n: number): RestartMode[] => [
  ...(['killed', 'all', 'dropped', 'names', 'bytes'] as const),
  ...[0, 1].map((nth) => ({ seed: 2 * n + nth })),
];

/** Nothing is lost: what was not taken is in the file, which is whole, or gone because all was taken. */
async function check(disk: SimulatedDisk, taken: readonly string[]): Promise<void> {
  if (disk.bytes(path) === undefined) {
    expect(new Set(taken)).toEqual(new Set(letters.map(({ id }) => id)));
    return;
  }
  expect(disk.text(path)).toBe(before);
  for (const id of await idsIn(path, disk)) if (id.endsWith('!')) expect(taken).toContain(id.slice(0, -1));
}

/** Replays to the end, and sees that all was taken, in the order of keys, and nothing is left. */
async function finish(disk: SimulatedDisk, taken: readonly string[], deliveries: number): Promise<void> {
  const endpoint = new Endpoint([], taken);
  try {
    expect((await endpoint.replay(disk, deliveries)).left).toBe(0);
  } catch (error) {
    // It was through but for its last words: the file is gone, and whoever runs it again is told so.
    if (!(error instanceof Error) || !error.message.includes('does not exist: no dead letters')) throw error;
  }
  const firsts = [...new Set(endpoint.taken)];
  expect(firsts.toSorted()).toEqual(letters.map(({ id }) => id));
  for (const key of ['a', 'b']) {
    const own = letters.filter((letter) => letter.key === key).map(({ id }) => id);
    expect(firsts.filter((id) => own.includes(id))).toEqual(own);
  }
  expect(disk.paths()).toEqual(['/data/']);
  // The lock of one who is gone may come back with a power cut, and is in nobody's way.
  const left = disk.restart('dropped').paths();
  expect(left.filter((each) => each === path || each.endsWith('replayed'))).toEqual([]);
}

test.each([
  ['one by one', 1, []],
  ['some at once', 3, []],
  ['with letters that are refused again', 1, ['record-1', 'record-4']],
])(
  'W9 a replay %s is cut at any call: nothing is lost, and nothing noted is sent again',
  { tags: ['slow'] },
  async (_, deliveries, refuses) => {
    const dry = filed();
    const { left } = await new Endpoint(refuses).replay(dry, deliveries);
    expect(left > 0).toBe(refuses.length > 0);
    expect(dry.calls.length).toBeGreaterThan(50);
    const isNew = newStates();
    for (const { n, name } of someOf(dry.calls, deliveries)) {
      for (const cut of ['before', 'after', ...(name === 'write' ? [3, 40] : [])] as const) {
        const disk = filed((call) => (call.n === n ? { cut } : undefined));
        const endpoint = new Endpoint(refuses);
        await endpoint.replay(disk, deliveries).catch(() => undefined);
        expect(disk.isStopped).toBe(true);
        // At most what was under way was taken without being noted.
        const noted = disk.bytes(path)
          ? (await idsIn(path, disk.restart('dropped'))).filter((id) => id.endsWith('!'))
          : [];
        if (disk.bytes(path)) expect(endpoint.taken.length - noted.length).toBeLessThanOrEqual(deliveries);
        for (const mode of modesAt(n)) {
          const after = disk.restart(mode);
          await check(after, endpoint.taken);
          if (isNew(after, endpoint.taken)) await finish(after, endpoint.taken, deliveries);
        }
      }
    }
  },
);

test('W9 a replay is killed at any call, and the next one is cut at any call', { tags: ['slow'] }, async () => {
  const dry = filed();
  await new Endpoint().replay(dry, 2);
  const isNew = newStates();
  for (const { n } of someOf(dry.calls)) {
    const disk = filed((call) => (call.n === n ? { cut: 'after' } : undefined));
    const first = new Endpoint();
    await first.replay(disk, 2).catch(() => undefined);
    const second = new Endpoint([], first.taken);
    const snapshots: [SimulatedDisk, string[]][] = [];
    const next: SimulatedDisk = disk.restart('killed', (call) => {
      if ((call.n + n) % 3 === 0)
        snapshots.push([next.restart(n % 2 === 0 ? 'dropped' : { seed: n + call.n }), [...second.taken]]);
      return undefined;
    });
    await second.replay(next, 2).catch(() => undefined);
    for (const [snapshot, taken] of snapshots) {
      await check(snapshot, taken);
      if (isNew(snapshot, taken)) await finish(snapshot, taken, 2);
    }
  }
});

test('W9 a replay is cut at any call, and then an export writes to the same file', { tags: ['slow'] }, async () => {
  const dry = filed();
  await new Endpoint().replay(dry, 1);
  const isNew = newStates();
  for (const { n } of someOf(dry.calls)) {
    const disk = filed((call) => (call.n === n ? { cut: 'after' } : undefined));
    const endpoint = new Endpoint();
    await endpoint.replay(disk, 1).catch(() => undefined);
    for (const mode of modesAt(n)) {
      const after = disk.restart(mode);
      if (!isNew(after)) continue;
      const known = after.bytes(path) ? await idsIn(path, after) : [];
      await fileLetters(path, [letterOf(6)], { fileSystem: after, claims: newProcess() });
      for (const machine of [after, after.restart('dropped')])
        expect(await idsIn(path, machine)).toEqual([...known, 'record-6']);
    }
  }
});
