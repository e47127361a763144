import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { nodeFileSystem, type FileSystem, type WritableFile } from '../../src/node/index.js';
import { platformCode } from '../../src/values.js';
import { simulatedDisk, type SimulatedDisk } from './simulatedDisk.js';
import { temporaryFolder } from '../../../../test/kit/temporaryFolder.js';

const paths = ['/a', '/b', '/d', '/e', '/d/a', '/d/b', '/e/a', '/a/x', '/no/a'] as const;
const path = fc.constantFrom(...paths);
/** Which of the open files a call is made to, counted round and round. */
const slot = fc.nat({ max: 5 });
/** On both sides of a sector's end. */
const place = fc.constantFrom(0, 3, 510, 515, 1030);

const steps = fc.oneof(
  fc.record({ call: fc.constant('open'), path, mode: fc.constantFrom('new', 'existing') }),
  fc.record({
    call: fc.constantFrom('kind', 'list', 'unlink', 'makeFolder', 'removeFolder', 'syncFolder', 'isOurs'),
    path,
  }),
  { weight: 2, arbitrary: fc.record({ call: fc.constantFrom('rename', 'link'), path, to: path }) },
  fc.record({ call: fc.constant('write'), slot, place, bytes: fc.uint8Array({ minLength: 0, maxLength: 8 }) }),
  fc.record({ call: fc.constantFrom('read', 'truncate'), slot, place }),
  fc.record({ call: fc.constantFrom('sync', 'size', 'close'), slot }),
);
const sequences = fc.array(steps, { maxLength: 40, size: 'max' });
type Step = typeof steps extends fc.Arbitrary<infer S> ? S : never;

/** Without these most steps would fail for want of anything to work on. */
const prelude: readonly Step[] = [
  { call: 'makeFolder', path: '/d' },
  { call: 'makeFolder', path: '/e' },
  { call: 'open', path: '/a', mode: 'new' },
  { call: 'open', path: '/d/a', mode: 'new' },
  { call: 'open', path: '/d/b', mode: 'new' },
  { call: 'write', slot: 0, place: 510, bytes: new Uint8Array([1, 2, 3]) },
];

/** A file system in use: a folder on it, and the files that were opened. Closed ones stay: calls to them fail, too. */
class Session {
  readonly #fs: FileSystem;
  readonly #root: string;
  readonly files: WritableFile[] = [];

  constructor(fileSystem: FileSystem, root = '/') {
    this.#fs = fileSystem;
    this.#root = root;
  }

  /** What a step answers, or the code it fails with. */
  async take(step: Step): Promise<unknown> {
    try {
      return await ('slot' in step ? this.#toFile(step) : this.#toPath(step));
    } catch (error) {
      return platformCode(error) ?? error;
    }
  }

  async #toPath(step: Exclude<Step, { slot: number }>): Promise<unknown> {
    const at = this.#at(step.path);
    if ('mode' in step) {
      this.files.push(await this.#fs.open(at, step.mode === 'new' ? 'new' : 'existing'));
      return 'opened';
    }
    if ('to' in step) return this.#fs[step.call === 'link' ? 'link' : 'rename'](at, this.#at(step.to));
    switch (step.call) {
      case 'list':
        return [...(await this.#fs.list(at))].sort();
      case 'kind':
      case 'unlink':
      case 'makeFolder':
      case 'removeFolder':
      case 'syncFolder':
      case 'isOurs':
        return this.#fs[step.call](at);
    }
  }

  async #toFile(step: Extract<Step, { slot: number }>): Promise<unknown> {
    const file = this.files[step.slot % this.files.length];
    if (!file) return 'none is open';
    if ('bytes' in step) return file.write(step.bytes, step.place);
    if ('place' in step) {
      if (step.call === 'truncate') return file.truncate(step.place);
      const into = new Uint8Array(600);
      return [await file.read(into, step.place), [...into]];
    }
    switch (step.call) {
      case 'sync':
      case 'size':
      case 'close':
        return file[step.call]();
    }
  }

  /** All that can be seen: what each path names, the bytes in it, and which names and open files are one and the same. */
  async view(): Promise<unknown> {
    const inodes: string[] = [];
    const numbered = async (identity: Promise<string | undefined>): Promise<unknown> => {
      const found = await identity.catch(platformCode);
      if (found === undefined || found.startsWith('E')) return found;
      if (!inodes.includes(found)) inodes.push(found);
      return inodes.indexOf(found);
    };
    const seen: unknown[] = [];
    for (const each of paths) {
      const at = this.#at(each);
      const kind = await this.#fs.kind(at).catch(() => 'none');
      const identity = await numbered(this.#fs.identity(at));
      seen.push([each, kind, identity, kind === 'file' ? await this.#bytes(at) : undefined]);
    }
    for (const file of this.files) seen.push(await numbered(file.identity()));
    return seen;
  }

  async #bytes(at: string): Promise<string> {
    const file = await this.#fs.open(at, 'existing');
    const bytes = Buffer.alloc(2000);
    const length = await file.read(bytes, 0);
    await file.close();
    return bytes.subarray(0, length).toString('hex');
  }

  #at(each: string): string {
    return join(this.#root, each);
  }
}

async function disturbed(sequence: readonly Step[]): Promise<SimulatedDisk> {
  const disk = simulatedDisk();
  const session = new Session(disk);
  for (const step of [...prelude, ...sequence]) await session.take(step);
  return disk;
}

function contents(disk: SimulatedDisk): Record<string, string | undefined> {
  return Object.fromEntries(disk.paths().map((each) => [each, disk.bytes(each) && hex(disk.bytes(each))]));
}

function hex(bytes: Uint8Array | undefined): string {
  return Buffer.from(bytes ?? []).toString('hex');
}

async function write(disk: SimulatedDisk, at: string, text: string, { sync = false, names = false } = {}) {
  const file = await disk.open(at, 'new');
  await file.write(Buffer.from(text), 0);
  if (sync) await file.sync();
  await file.close();
  if (names) await disk.syncFolder('/');
}

/** Replaces no file, and moves no folder into another, where the loss of a move in between could leave each in the other. */
async function isPlainMove(disk: SimulatedDisk, { from, to }: { readonly from: string; readonly to: string }) {
  const moved = await disk.kind(from).catch(() => 'none');
  const taken = await disk.kind(to).catch(() => 'none');
  return taken !== 'file' && (moved === 'file' || to.lastIndexOf('/') === 0);
}

/** What each of many power cuts leaves. */
function cuts<R>(disk: SimulatedDisk, look: (left: SimulatedDisk) => R, seeds = 200): R[] {
  return Array.from({ length: seeds }, (_, seed) => look(disk.restart({ seed })));
}

describe('a simulated disk', () => {
  // The codes of other systems differ here and there.
  test.runIf(process.platform === 'linux')('answers and fails like the real one', { tags: ['slow'] }, async () => {
    await fc.assert(
      fc.asyncProperty(sequences, async (sequence) => {
        const real = new Session(nodeFileSystem, temporaryFolder());
        const simulated = new Session(simulatedDisk());
        try {
          for (const step of [...prelude, ...sequence])
            expect([step, await simulated.take(step)]).toEqual([step, await real.take(step)]);
          expect(await simulated.view()).toEqual(await real.view());
        } finally {
          for (const file of real.files) await file.close();
        }
      }),
      { numRuns: 150 },
    );
  });

  test('has volumes, between which nothing is renamed or linked', async () => {
    const disk = simulatedDisk();
    disk.mount('/far', { id: 'far', kind: 'network' });
    disk.put('/far/below/rows', 'x');
    expect(await disk.volume('/far/below/rows')).toEqual({ id: 'far', kind: 'network' });
    expect(await disk.volume('/')).toMatchObject({ kind: 'disk' });
    expect(await disk.restart('dropped').volume('/far')).toMatchObject({ id: 'far' });
    for (const call of ['rename', 'link'] as const) {
      await expect(disk[call]('/far/below/rows', '/rows')).rejects.toMatchObject({ code: 'EXDEV' });
    }
  });

  test('knows what is not ours', async () => {
    const disk = simulatedDisk();
    disk.put('/theirs', 'x');
    disk.giveAway('/theirs');
    expect([await disk.isOurs('/theirs'), await disk.isOurs('/'), await disk.isOurs('/none')]).toEqual([
      false,
      true,
      true,
    ]);
    expect(await disk.restart('dropped').isOurs('/theirs')).toBe(false);
  });

  test('notes what is called', async () => {
    const disk = simulatedDisk();
    await write(disk, '/rows.part', 'rows', { sync: true });
    await disk.rename('/rows.part', '/rows');
    await disk.unlink('/none').catch(() => undefined);
    expect(disk.calls.map(({ label }) => label)).toEqual([
      'open /rows.part',
      'write /rows.part',
      'sync /rows.part',
      'close /rows.part',
      'rename /rows.part -> /rows',
      'unlink /none',
    ]);
    expect(disk.calls[1]).toMatchObject({ name: 'write', path: '/rows.part', n: 2, bytes: 4 });
    expect([disk.count('sync'), disk.count('link')]).toEqual([1, 0]);
  });
});

describe('a simulated fault', () => {
  test('comes before or after the call has done its work', async () => {
    for (const when of ['before', 'after'] as const) {
      const disk = simulatedDisk(({ label }) => (label === 'open /rows' ? { code: 'EIO', when } : undefined));
      await expect(disk.open('/rows', 'new')).rejects.toMatchObject({ code: 'EIO' });
      expect(disk.paths()).toEqual(when === 'after' ? ['/rows'] : []);
    }
  });

  test('makes a write short, and a file is closed whatever its system says', async () => {
    const disk = simulatedDisk(({ name }) =>
      name === 'write' ? { short: 2 } : name === 'close' ? { code: 'EIO' } : undefined,
    );
    const file = await disk.open('/rows', 'new');
    expect(await file.write(Buffer.from('rows'), 0)).toBe(2);
    await expect(file.close()).rejects.toMatchObject({ code: 'EIO' });
    await expect(file.size()).rejects.toMatchObject({ code: 'EBADF' });
    expect(disk.text('/rows')).toBe('ro');
  });

  test.each([
    ['before', ''],
    ['after', 'rows'],
    [3, 'row'],
  ] as const)('stops the machine: a cut (%s) leaves %j of a write', async (cut, left) => {
    const disk = simulatedDisk(({ name }) => (name === 'write' ? { cut } : undefined));
    const file = await disk.open('/rows', 'new');
    await expect(file.write(Buffer.from('rows'), 0)).rejects.toMatchObject({ code: 'ECUT' });
    expect(disk.isStopped).toBe(true);
    for (const late of [file.write(Buffer.from('late'), 0), file.sync(), disk.unlink('/rows'), file.close()]) {
      await expect(late).rejects.toMatchObject({ code: 'ECUT' });
    }
    expect(disk.calls.at(-1)).toMatchObject({ n: 2, label: 'write /rows' });
    expect(disk.restart('killed').text('/rows')).toBe(left);
    expect(disk.restart('dropped').paths()).toEqual([]);
  });

  test('meets the next start only where that is told to', async () => {
    const disk = simulatedDisk(({ n }) => (n === 2 ? { cut: 'before' } : undefined));
    await expect(write(disk, '/rows', 'rows')).rejects.toMatchObject({ code: 'ECUT' });
    await write(disk.restart('dropped'), '/rows', 'rows');
    const again = disk.restart('all', ({ n }) => (n === 1 ? { code: 'EACCES' } : undefined));
    await expect(again.kind('/rows')).rejects.toMatchObject({ code: 'EACCES' });
    expect(await again.kind('/rows')).toBe('file');
  });
});

describe('after a restart', () => {
  test('what was synced is there, and nothing else changed, whatever else was lost', { tags: ['slow'] }, async () => {
    await fc.assert(
      fc.asyncProperty(sequences, fc.integer(), async (sequence, seed) => {
        const disk = await disturbed(sequence);
        const before = contents(disk);
        for (const each of disk.paths()) await disk.syncFolder(each);
        await disk.syncFolder('/');
        expect(contents(disk.restart({ seed }))).toEqual(before);
        expect(contents(disk.restart('dropped'))).toEqual(before);
      }),
      { numRuns: 300 },
    );
  });

  test('a synced file under a synced name outlives all that is done beside it', { tags: ['slow'] }, async () => {
    await fc.assert(
      fc.asyncProperty(sequences, sequences, fc.integer(), async (before, after, seed) => {
        const disk = await disturbed(before);
        await write(disk, '/kept', 'rows', { sync: true, names: true });
        const session = new Session(disk);
        for (const step of after) await session.take(step);
        expect(disk.restart({ seed }).text('/kept')).toBe('rows');
      }),
      { numRuns: 300 },
    );
  });

  test('each byte was written there some time, or is zero', async () => {
    const fills = fc.array(fc.record({ at: place, bytes: fc.integer({ min: 1, max: 1200 }), sync: fc.boolean() }), {
      minLength: 1,
      maxLength: 6,
    });
    await fc.assert(
      fc.asyncProperty(fills, fc.integer(), async (writes, seed) => {
        const disk = simulatedDisk();
        disk.put('/rows', '');
        const file = await disk.open('/rows', 'existing');
        const written = Array.from({ length: 2400 }, () => [0]);
        for (const [index, { at, bytes, sync }] of writes.entries()) {
          await file.write(new Uint8Array(bytes).fill(index + 1), at);
          for (let each = at; each < at + bytes; each += 1) written[each]?.push(index + 1);
          if (!sync) continue;
          await file.sync();
          const durable = disk.bytes('/rows')!;
          written.forEach((_values, each) => (written[each] = [durable[each] ?? 0]));
        }
        const size = await file.size();
        const left = disk.restart({ seed }).bytes('/rows')!;
        expect(left.length).toBeLessThanOrEqual(size);
        expect(left.every((value, each) => written[each]?.includes(value))).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  test('is the same for the same mode and seed, and leaves the first disk as it was', { tags: ['slow'] }, async () => {
    await fc.assert(
      fc.asyncProperty(sequences, fc.integer(), async (sequence, seed) => {
        const disk = await disturbed(sequence);
        const twin = await disturbed(sequence);
        for (const mode of ['killed', 'all', 'dropped', 'names', 'bytes', { seed }] as const) {
          const left = contents(disk.restart(mode));
          expect(contents(disk.restart(mode))).toEqual(left);
          expect(contents(twin.restart(mode))).toEqual(left);
        }
        const killed = disk.restart('killed');
        expect(contents(killed)).toEqual(contents(disk));
        for (const each of [disk, killed]) await each.syncFolder('/');
        expect(contents(killed.restart({ seed }))).toEqual(contents(disk.restart({ seed })));
        expect(contents(disk.restart('all'))).toEqual(contents(disk));
      }),
      { numRuns: 100 },
    );
  });

  test('all is durable, but for a kill: what that leaves can still be lost to a power cut', async () => {
    const disk = simulatedDisk();
    await write(disk, '/rows', 'rows');
    expect(disk.restart('all').restart('dropped').text('/rows')).toBe('rows');
    const killed = disk.restart('killed');
    expect(killed.text('/rows')).toBe('rows');
    expect(killed.restart('dropped').paths()).toEqual([]);
    await killed.syncFolder('/');
    expect(killed.restart('dropped').text('/rows')).toBe('');
  });

  test('a file is where its name is: neither is durable without the other', async () => {
    const disk = simulatedDisk();
    await write(disk, '/nameless', 'rows', { sync: true });
    expect(disk.restart('dropped').paths()).toEqual([]);
    expect(disk.restart('names').text('/nameless')).toBe('rows');

    const other = simulatedDisk();
    await write(other, '/empty', 'rows', { names: true });
    expect(other.restart('dropped').text('/empty')).toBe('');
    expect(other.restart('bytes').text('/empty')).toBe('rows');
  });

  test('a folder is where its own name is', async () => {
    const disk = simulatedDisk();
    await disk.makeFolder('/d');
    await write(disk, '/d/rows', 'rows', { sync: true });
    await disk.syncFolder('/d');
    expect(disk.restart('dropped').paths()).toEqual([]);
    await disk.syncFolder('/');
    expect(disk.restart('dropped').paths()).toEqual(['/d/', '/d/rows']);
  });

  test.each(['/', '/d/'])('a rename into %s has happened or it has not', async (folder) => {
    const disk = simulatedDisk();
    disk.put('/new', 'new');
    disk.put(`${folder}rows`, 'old');
    await disk.rename('/new', `${folder}rows`);
    const outcomes = cuts(disk, (left) => [left.text('/new'), left.text(`${folder}rows`)].join());
    expect(new Set(outcomes)).toEqual(new Set(['new,old', ',new']));
    await disk.syncFolder(folder);
    expect(new Set(cuts(disk, (left) => [left.text('/new'), left.text(`${folder}rows`)].join()))).toEqual(
      new Set([',new']),
    );
  });

  test(
    'a file that is only ever renamed has just one name, whatever is done to the folders',
    { tags: ['slow'] },
    async () => {
      const names = ['/a', '/b', '/d', '/e', '/d/a', '/d/b', '/e/a', '/e/b'] as const;
      const name = fc.constantFrom(...names);
      const moves = fc.oneof(
        { weight: 3, arbitrary: fc.record({ from: name, to: name }) },
        fc.record({ call: fc.constantFrom('removeFolder', 'makeFolder', 'syncFolder'), path: name }),
      );
      await fc.assert(
        fc.asyncProperty(fc.array(moves, { maxLength: 30, size: 'max' }), fc.integer(), async (sequence, seed) => {
          const disk = simulatedDisk();
          for (const each of ['/a', '/d/a', '/e/a']) disk.put(each, `first ${each}`);
          for (const move of sequence) {
            if ('call' in move) {
              await disk[move.call](move.path).catch(() => undefined);
              // What is moved into a folder goes with it when its own name is lost.
              if (move.call === 'makeFolder') await disk.syncFolder(dirname(move.path)).catch(() => undefined);
            } else if (await isPlainMove(disk, move)) await disk.rename(move.from, move.to).catch(() => undefined);
          }
          const left = disk.restart({ seed });
          const files = left.paths().filter((each) => !each.endsWith('/'));
          expect(files.map((each) => left.text(each)).sort()).toEqual(['first /a', 'first /d/a', 'first /e/a']);
          await left.open('/new', 'new');
          const identities = await Promise.all(left.paths().map((each) => left.identity(each)));
          expect(new Set(identities).size).toBe(left.paths().length);
        }),
        { numRuns: 500 },
      );
    },
  );

  test('a folder that was emptied and removed takes nothing along', async () => {
    const disk = simulatedDisk();
    disk.put('/d/rows', 'rows');
    disk.putFolder('/e');
    await disk.rename('/d/rows', '/e/rows');
    await disk.removeFolder('/d');
    expect(new Set(cuts(disk, (left) => left.paths().join()))).toEqual(
      new Set(['/d/,/d/rows,/e/', '/d/,/e/,/e/rows', '/e/,/e/rows']),
    );
    await disk.syncFolder('/');
    expect(disk.restart('dropped').paths()).toEqual(['/e/', '/e/rows']);
  });

  test('a later name can outlive an earlier one, so that a file can lose both', async () => {
    const disk = simulatedDisk();
    disk.put('/part', 'rows');
    await disk.link('/part', '/rows');
    await disk.unlink('/part');
    const outcomes = cuts(disk, (left) => left.paths().join());
    expect(new Set(outcomes)).toEqual(new Set(['/part', '/part,/rows', '/rows', '']));
  });

  test('two names that were linked are still one file', async () => {
    const disk = simulatedDisk();
    disk.put('/a', 'rows');
    await disk.link('/a', '/b');
    for (const mode of ['all', 'killed', 'names'] as const) {
      const left = disk.restart(mode);
      expect(await left.identity('/b')).toBe(await left.identity('/a'));
      await (await left.open('/a', 'existing')).write(Buffer.from('R'), 0);
      expect(left.text('/b')).toBe('Rows');
    }
  });

  test('a write can be there in whole, in part or not at all', async () => {
    const disk = simulatedDisk();
    disk.put('/rows', '.'.repeat(300));
    const file = await disk.open('/rows', 'existing');
    await file.write(Buffer.from('x'.repeat(2000)), 100);
    const outcomes = cuts(disk, (left) => left.text('/rows')!.replaceAll('\0', '0'));
    const seen = (shape: RegExp, size?: number) =>
      outcomes.some((text) => shape.test(text) && (size === undefined || text.length === size));
    expect(seen(/^\.{100}x{2000}$/)).toBe(true);
    expect(seen(/^\.{300}$/)).toBe(true);
    // Torn at any byte,
    expect(seen(/^\.{100}x+\.+$/, 300)).toBe(true);
    expect(outcomes.some((text) => /^\.{100}x{200,1999}$/.test(text))).toBe(true);
    // or of sectors: a later one without an earlier one, and a hole in between.
    expect(seen(/^\.{300}0{212}x/)).toBe(true);
    expect(seen(/x0+x/)).toBe(true);
    // And the size without the bytes.
    expect(seen(/^\.{300}0+$/)).toBe(true);
    expect(outcomes.every((text) => /^\.{100}[.x]{0,200}[x0]*$/.test(text) && text.length <= 2100)).toBe(true);
  });

  test('a file that was cut back can have any size in between', async () => {
    const disk = simulatedDisk();
    disk.put('/rows', 'x'.repeat(100));
    const file = await disk.open('/rows', 'existing');
    await file.truncate(40);
    const sizes = cuts(disk, (left) => left.text('/rows')!.length);
    expect([Math.min(...sizes), Math.max(...sizes)]).toEqual([40, 100]);
    expect(sizes.some((size) => size > 40 && size < 100)).toBe(true);
    await file.sync();
    expect(new Set(cuts(disk, (left) => left.text('/rows')!.length))).toEqual(new Set([40]));
  });
});

describe('a fingerprint', () => {
  test('is one for a disk and its copy, and whatever is done to both', { tags: ['slow'] }, async () => {
    await fc.assert(
      fc.asyncProperty(sequences, sequences, fc.integer(), async (before, after, seed) => {
        const disks = [(await disturbed(before)).restart('killed')];
        disks.push(disks[0]!.restart('killed'));
        for (const disk of disks) {
          const session = new Session(disk);
          for (const step of after) await session.take(step);
        }
        for (const mode of ['killed', 'dropped', { seed }] as const) {
          const [left, twin] = disks.map((disk) => disk.restart(mode).fingerprint());
          expect(twin).toBe(left);
        }
      }),
      { numRuns: 100 },
    );
  });

  test('is another one for each way in which disks can differ', async () => {
    const ways: readonly ((disk: SimulatedDisk) => unknown)[] = [
      () => undefined,
      (disk) => disk.put('/rows', 'Rows'),
      (disk) => disk.put('/more', 'rows'),
      (disk) => disk.link('/rows', '/more'),
      (disk) => disk.link('/rows', '/d/more'),
      (disk) => disk.rename('/rows', '/more'),
      (disk) => disk.unlink('/rows'),
      (disk) => disk.makeFolder('/more'),
      (disk) => disk.putFolder('/more'),
      async (disk) => (await disk.open('/rows', 'existing')).write(Buffer.from('R'), 0),
      async (disk) => (await disk.open('/rows', 'existing')).write(Buffer.from('Ro'), 0),
      async (disk) => (await disk.open('/rows', 'existing')).truncate(3),
      (disk) => disk.giveAway('/rows'),
      (disk) => disk.mount('/d', { id: 'other', kind: 'network' }),
    ];
    const prints = await Promise.all(
      ways.map(async (change) => {
        const disk = simulatedDisk();
        disk.putFolder('/d');
        disk.put('/rows', 'rows');
        await change(disk);
        return disk.fingerprint();
      }),
    );
    expect(new Set(prints).size).toBe(ways.length);
  });

  test('tells UUIDs from one another, and not those of one run from those of another', () => {
    const [a, b, c, d] = Array.from({ length: 4 }, () => crypto.randomUUID());
    const claims = (first = '', second = ''): string => {
      const disk = simulatedDisk();
      disk.put('/claim', `{"by":"${first}"}`);
      disk.put('/other', second);
      return disk.fingerprint();
    };
    expect(claims(a, b)).toBe(claims(c, d));
    expect(claims(a, b)).not.toBe(claims(c, c));
    expect(claims(a, b)).not.toBe(claims(a, 'b'));
  });
});
