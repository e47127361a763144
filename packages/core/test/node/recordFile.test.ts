import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { CheckpointError, SinkError } from '../../src/index.js';
import type { StateLog } from '../../src/kit.js';
import { fileState, nodeFileSystem, type FileSystem } from '../../src/node/index.js';
import { faultyFileSystem } from './faultyFileSystem.js';
import { simulatedDisk } from './simulatedDisk.js';
import { temporaryFolder } from '../../../../test/kit/temporaryFolder.js';

const records = [{ n: 1 }, { n: 2, text: 'ä\u2028\n"\ud800', deep: { __proto__x: [null, true] } }, { n: 3 }];

/** A folder with a log of `records`, and where it is. */
async function logOf(written: readonly object[] = records): Promise<{ folder: string; path: string; log: StateLog }> {
  const folder = join(temporaryFolder(), 'state');
  mkdirSync(folder);
  const log = fileState(folder).log('watch');
  onTestFinished(() => log.close());
  for (const record of written) await log.append(record);
  return { folder, path: join(folder, 'watch.log'), log };
}

async function listed(found: AsyncIterable<unknown>): Promise<unknown[]> {
  const list: unknown[] = [];
  for await (const each of found) list.push(each);
  return list;
}

async function readBack(folder: string, fileSystem: FileSystem = nodeFileSystem): Promise<unknown[]> {
  const log = fileState(folder, { fileSystem }).log('watch');
  try {
    return await listed(log.read());
  } finally {
    await log.close();
  }
}

describe('a log in a file', () => {
  test.each([0, 12, 20])('is not continued once somebody has cut it to %i bytes', async (bytes) => {
    const { path, log } = await logOf();
    truncateSync(path, bytes);
    await expect(log.append({ n: 4 })).rejects.toThrow(`has ${bytes} bytes, but`);
  });

  test('gives back what was appended, and what replaced it', async () => {
    const { folder, path, log } = await logOf();
    expect(await readBack(folder)).toEqual(records);
    expect(log.bytes).toBe(readFileSync(path).length);
    await log.replace([{ n: 4 }]);
    await log.append({ n: 5 });
    expect(await readBack(folder)).toEqual([{ n: 4 }, { n: 5 }]);
    expect(log.bytes).toBe(readFileSync(path).length);
    await log.close();
    const next = fileState(folder).log('watch');
    expect(await listed(next.read())).toHaveLength(2);
    await next.append({ n: 6 });
    await next.close();
    expect(await readBack(folder)).toEqual([{ n: 4 }, { n: 5 }, { n: 6 }]);
    expect(readdirSync(folder)).toEqual(['watch.log']);
  });

  test('is readable by people: a line with the format, then a line a record with its checksum', async () => {
    const { path } = await logOf([{ generation: 1 }]);
    expect(readFileSync(path, 'utf8')).toBe('sluice-state 1\nc877ba4b {"generation":1}\n');
  });

  test('has no records where there is none, and makes nothing', async () => {
    const folder = join(temporaryFolder(), 'state');
    expect(await readBack(folder)).toEqual([]);
    expect(readdirSync(join(folder, '..'))).toEqual([]);
  });

  test(
    'takes lines that are longer than what is read and written at once, wherever they end',
    { tags: ['slow'] },
    async () => {
      const long = [256 * 1024, 700_000, 1, 256 * 1024 - 24, 300_000].map((length, n) => ({
        n,
        text: 'ä'.repeat(length),
      }));
      const { folder, log } = await logOf(long);
      expect(await readBack(folder)).toEqual(long);
      await log.replace(long.toReversed());
      expect(await readBack(folder)).toEqual(long.toReversed());
    },
  );

  test('goes on with a disk that takes and gives a few bytes at a time', async () => {
    const slow: FileSystem = {
      ...nodeFileSystem,
      open: async (path, mode) => {
        const file = await nodeFileSystem.open(path, mode);
        return {
          ...file,
          write: (bytes, position) => file.write(bytes.subarray(0, 3), position),
          read: (bytes, position) => file.read(bytes.subarray(0, 3), position),
        };
      },
    };
    const { folder } = await logOf();
    const log = fileState(folder, { fileSystem: slow }).log('watch');
    expect(await listed(log.read())).toEqual(records);
    await log.append({ n: 4 });
    await log.close();
    expect(await readBack(folder)).toEqual([...records, { n: 4 }]);
  });
});

describe('C6 a log that a crash left', () => {
  test(
    'loses its last record, whatever is left of that, and goes on behind the one before',
    { tags: ['slow'] },
    async () => {
      const { folder, path } = await logOf();
      const whole = readFileSync(path);
      const last = whole.lastIndexOf('\n', whole.length - 2) + 1;
      for (let length = last; length < whole.length; length += 1) {
        for (const tail of [Buffer.alloc(0), Buffer.alloc(whole.length - length), Buffer.from('\n')]) {
          writeFileSync(path, Buffer.concat([whole.subarray(0, length), tail]));
          // An empty line is none that a crash could leave, but does no harm: it is the last one.
          expect(await readBack(folder)).toEqual(
            length === whole.length - 1 && tail[0] === 10 ? records : records.slice(0, 2),
          );
          if (!(length === whole.length - 1 && tail[0] === 10))
            expect(readFileSync(path).equals(whole.subarray(0, last))).toBe(true);
          const log = fileState(folder).log('watch');
          await listed(log.read());
          await log.append({ n: 4 });
          await log.close();
          expect((await readBack(folder)).at(-1)).toEqual({ n: 4 });
        }
      }
    },
  );

  test(
    'E6 but damage before the last record is an error, and the file is left as it is',
    { tags: ['slow'] },
    async () => {
      const { folder, path } = await logOf();
      const whole = readFileSync(path);
      const last = whole.lastIndexOf('\n', whole.length - 2) + 1;
      // Without the line's end before it, the last record can't be told from a longer one that is torn.
      for (let at = 0; at < last - 1; at += 1) {
        const damaged = [
          Buffer.from(whole).fill(whole[at]! ^ 1, at, at + 1),
          Buffer.concat([whole.subarray(0, at), whole.subarray(at + 1)]),
          // Whatever follows it, torn as it may be.
          Buffer.from(whole)
            .fill(whole[at]! ^ 1, at, at + 1)
            .subarray(0, whole.length - 3),
        ];
        for (const bytes of damaged) {
          writeFileSync(path, bytes);
          const error: unknown = await readBack(folder).catch((reason: unknown) => reason);
          expect(error, `byte ${String(at)}`).toBeInstanceOf(CheckpointError);
          expect(readFileSync(path).equals(bytes)).toBe(true);
        }
      }
    },
  );

  test('is durable before anything relies on it, also when it was killed between renaming and syncing', async () => {
    const dry = simulatedDisk();
    dry.putFolder('/state');
    await fileState('/state', { fileSystem: dry }).log('watch').replace(records);
    for (const { n } of dry.calls) {
      const disk = simulatedDisk((call) => (call.n === n ? { cut: 'after' } : undefined));
      disk.putFolder('/state');
      await fileState('/state', { fileSystem: disk })
        .log('watch')
        .replace(records)
        .catch(() => undefined);
      const left = disk.restart('killed');
      const state = fileState('/state', { fileSystem: left });
      await state.lock(new AbortController().signal, 'watch');
      const found = await listed(state.log('watch').read());
      expect([[], records]).toContainEqual(found);
      expect(await readBack('/state', left.restart('dropped'))).toEqual(found);
    }
  });

  test('gives back only what stays, when the power goes after it was read', async () => {
    let syncs = 0;
    const disk = simulatedDisk(({ name }) => (name === 'sync' && (syncs += 1) === 5 ? { cut: 'before' } : undefined));
    disk.putFolder('/state');
    const log = fileState('/state', { fileSystem: disk }).log('watch');
    await log.append({ n: 1 });
    for (let n = 2; n < 9; n += 1) await log.append({ n }).catch(() => undefined);
    expect(disk.isStopped).toBe(true);
    const left = disk.restart('killed');
    const found = await readBack('/state', left);
    expect(await readBack('/state', left.restart('dropped'))).toEqual(found);
  });
});

describe('E6 a log that is not for us', () => {
  test.each([
    ['', /is empty/],
    ['hello\n', /is not a state of Sluice, or is damaged/],
    ['sluice-state 1', /is not a state of Sluice, or is damaged/],
    ['sluice-state 2\nsomething new\n', /another version of Sluice \(format 2,/],
  ])('%j is refused and left as it is', async (text, message) => {
    const { folder, path } = await logOf([]);
    writeFileSync(path, text);
    const error: unknown = await readBack(folder).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(CheckpointError);
    expect(error).toMatchObject({ message: expect.stringMatching(message) });
    expect(readFileSync(path, 'utf8')).toBe(text);
  });

  test.each(['hello\n', 'sluice\n'])('%j is not replaced, appended to or removed either', async (text) => {
    const { path, log } = await logOf([]);
    writeFileSync(path, text);
    for (const attempt of [() => log.replace([]), () => log.append({ n: 1 }), () => log.remove()]) {
      const error: unknown = await attempt().catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(CheckpointError);
      expect(error).toMatchObject({ message: expect.stringMatching(/not written by Sluice/) });
      expect(readFileSync(path, 'utf8')).toBe(text);
    }
  });

  test('but what is damaged behind its first line, or empty, may be replaced', async () => {
    for (const text of ['', 'sluice-state 1\ndamaged', 'sluice-state 2\nnewer']) {
      const { folder, path, log } = await logOf([]);
      writeFileSync(path, text);
      await log.replace([{ n: 1 }]);
      expect(await readBack(folder)).toEqual([{ n: 1 }]);
    }
  });

  test('another user’s, a link and a folder are refused', async () => {
    const { folder, path } = await logOf();
    const others: FileSystem = { ...nodeFileSystem, isOurs: () => Promise.resolve(false) };
    await expect(readBack(folder, others)).rejects.toThrow(/belongs to another user/);
    const { folder: linked } = await logOf([]);
    symlinkSync(path, join(linked, 'watch.log'));
    await expect(readBack(linked)).rejects.toThrow(/is a link/);
    const { folder: nested, path: taken } = await logOf([]);
    mkdirSync(taken);
    await expect(readBack(nested)).rejects.toThrow(SinkError);
  });
});

describe('E9 a disk that fails', () => {
  test(
    'replaces a log whole or not at all, whatever call fails, and the next run can go on',
    { tags: ['slow'] },
    async () => {
      for (const when of ['before', 'after'] as const) {
        let isThrough = false;
        for (let failing = 1; !isThrough; failing += 1) {
          const { folder } = await logOf();
          let calls = -Infinity;
          const fileSystem = faultyFileSystem(() => ((calls += 1) === failing ? { code: 'ENOSPC', when } : undefined));
          const log = fileState(folder, { fileSystem }).log('watch');
          await listed(log.read());
          calls = 0;
          isThrough = await log.replace([{ n: 4 }]).then(
            () => calls < failing,
            (error: unknown) => {
              expect(error).toBeInstanceOf(SinkError);
              return false;
            },
          );
          expect([[{ n: 4 }], records]).toContainEqual(await readBack(folder));
          // Whoever goes on all the same neither writes into the wrong file nor at the wrong place.
          const isAppended = await log.append({ n: 5 }).then(
            () => true,
            () => false,
          );
          await log.close();
          const left = await readBack(folder);
          expect([[{ n: 4 }], [{ n: 4 }, { n: 5 }], records, [...records, { n: 5 }]]).toContainEqual(left);
          if (isAppended) expect(left.at(-1)).toEqual({ n: 5 });
          await (
            await fileState(folder).lock(new AbortController().signal, 'watch')
          )();
          expect(readdirSync(folder)).toEqual(['watch.log']);
        }
      }
    },
  );

  test('notices that its file was removed or replaced meanwhile, and says that its records are lost', async () => {
    for (const [what, change] of [
      ['removed', (folder: string) => rmSync(folder, { recursive: true })],
      ['replaced', (folder: string) => cpSync(join(folder, 'watch.log'), join(folder, 'copy'))],
    ] as const) {
      const { folder, path, log } = await logOf();
      await log.append({ n: 4 });
      change(folder);
      if (what === 'replaced') renameSync(join(folder, 'copy'), path);
      const error: unknown = await log.append({ n: 5 }).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(SinkError);
      expect(error).toMatchObject({ message: expect.stringContaining(`${path} was ${what} while it was in use`) });
      await expect(log.append({ n: 6 })).rejects.toThrow(SinkError);
    }
  });

  test('appends nothing more after a sync or a write has failed, in this run', async () => {
    for (const call of ['sync', 'write'] as const) {
      let isFailing = false;
      const fileSystem = faultyFileSystem((made) => (isFailing && made === call ? { code: 'EIO' } : undefined));
      const { folder } = await logOf();
      const log = fileState(folder, { fileSystem }).log('watch');
      await listed(log.read());
      isFailing = true;
      await expect(log.append({ n: 4 })).rejects.toThrow(SinkError);
      isFailing = false;
      await expect(log.append({ n: 5 })).rejects.toThrow(/could not be made durable/);
      await log.close();
      expect([records, [...records, { n: 4 }]]).toContainEqual(await readBack(folder));
    }
  });
});
