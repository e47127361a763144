import {
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { CheckpointError, ConfigError, SinkError } from '../../src/index.js';
import { fileState, nodeFileSystem, type FileStateOptions, type FileSystem } from '../../src/node/index.js';
import { temporaryName } from '../../src/node/files/wholeFile.js';
import { faultyFileSystem } from './faultyFileSystem.js';
import { temporaryFolder } from '../../../../test/kit/temporaryFolder.js';
import type { Volume } from '../../src/node/files/fileSystem.js';

const never = new AbortController().signal;
const record = { v: 1, text: 'ä\u2028"', nested: { '2': [1], '10': null, b: true } };

function stateFolder(): string {
  const folder = join(temporaryFolder(), 'state');
  mkdirSync(folder);
  return folder;
}

describe('state in files', () => {
  test('gives back what was saved, and nothing where nothing was', async () => {
    const state = fileState(stateFolder());
    expect(await state.load('checkpoint')).toBeUndefined();
    await state.save('checkpoint', record);
    await state.save('other', { v: 2 });
    expect(await fileState(state.folder).load('checkpoint')).toEqual(record);
    await state.save('checkpoint', { v: 3 });
    expect(await state.load('checkpoint')).toEqual({ v: 3 });
    expect(await state.load('other')).toEqual({ v: 2 });
    await state.remove('checkpoint');
    await state.remove('checkpoint');
    expect(await state.load('checkpoint')).toBeUndefined();
    expect(readdirSync(state.folder)).toEqual(['other']);
  });

  test('is readable by people: a line with format and checksum, then JSON', async () => {
    const state = fileState(stateFolder());
    await state.save('checkpoint', { v: 1 });
    expect(readFileSync(join(state.folder, 'checkpoint'), 'utf8')).toBe('sluice-state 1\n84dbe73d {"v":1}\n');
  });

  test.runIf(process.platform !== 'win32')('is made so that its owner alone can read it', async () => {
    const state = fileState(join(temporaryFolder(), 'state'));
    const release = await state.lock(never);
    await state.save('checkpoint', record);
    const log = state.log('watch');
    await log.replace([{ row: 1 }]);
    await log.append({ row: 2 });
    await log.close();
    const names = readdirSync(state.folder);
    expect(names).toHaveLength(3);
    const modeOf = (name: string): number => statSync(join(state.folder, name)).mode & 0o777;
    // A lock has nothing to read.
    const records = names.filter((name) => !name.startsWith('lock-'));
    expect(['', ...records].map(modeOf)).toEqual([0o700, 0o600, 0o600]);
    await release();
  });

  test(
    'E6 notices any byte that was flipped, and any that is missing, and leaves the file as it is',
    { tags: ['slow'] },
    async () => {
      const state = fileState(stateFolder());
      const path = join(state.folder, 'checkpoint');
      await state.save('checkpoint', record);
      const whole = readFileSync(path);
      const damaged = [
        ...Array.from(whole, (byte, at) => Buffer.from(whole).fill(byte ^ 1, at, at + 1)),
        ...Array.from(whole, (_, length) => whole.subarray(0, length)),
        Buffer.concat([whole, Buffer.from('\n')]),
        Buffer.from([0xff, 0xfe]),
        Buffer.from('sluice-state 1\n00000000 \n'),
      ];
      for (const bytes of damaged) {
        writeFileSync(path, bytes);
        const error: unknown = await state.load('checkpoint').catch((reason: unknown) => reason);
        expect(error).toBeInstanceOf(CheckpointError);
        expect(error).toMatchObject({ message: expect.stringMatching(/restart: nothing was changed\.$/) });
        expect(readFileSync(path).equals(bytes)).toBe(true);
      }
    },
  );

  test.each([
    ['', /is empty/],
    ['{"v":1}\n', /is not a state of Sluice/],
    ['sluice-state 2\n{"v":1}\n', /another version of Sluice \(format 2, this one knows 1\)/],
    ['sluice-state 1\n00000000 {}\n', /damaged/],
  ])('E6 says what is wrong with %j', async (text, message) => {
    const state = fileState(stateFolder());
    writeFileSync(join(state.folder, 'checkpoint'), text);
    await expect(state.load('checkpoint')).rejects.toThrow(CheckpointError);
    await expect(state.load('checkpoint')).rejects.toThrow(message);
  });

  test('E6 follows no link, and takes nothing from another user', async () => {
    const state = fileState(stateFolder());
    await state.save('checkpoint', record);
    const elsewhere = fileState(stateFolder());
    symlinkSync(join(state.folder, 'checkpoint'), join(elsewhere.folder, 'checkpoint'));
    await expect(elsewhere.load('checkpoint')).rejects.toThrow(/is a link/);
    const others: FileSystem = { ...nodeFileSystem, isOurs: () => Promise.resolve(false) };
    const foreign = fileState(state.folder, { fileSystem: others });
    await expect(foreign.load('checkpoint')).rejects.toThrow(/belongs to another user/);
    await expect(foreign.save('checkpoint', record)).rejects.toThrow(/belongs to another user/);
  });

  test.runIf(process.geteuid?.() === 0)('E6 sees whose a file is', async () => {
    const state = fileState(stateFolder());
    await state.save('checkpoint', record);
    chownSync(join(state.folder, 'checkpoint'), 12_345, 12_345);
    await expect(state.load('checkpoint')).rejects.toThrow(CheckpointError);
  });

  test('E6 clears away nothing of what people keep in the same folder, whatever it is called', async () => {
    const state = fileState(stateFolder());
    const names = ['new-report.csv', 'new-app.log', 'new-checkpoint', 'new-watch.log', 'sluice-new-report', 'mine.log'];
    for (const name of names) writeFileSync(join(state.folder, name), name);
    for (const use of ['export', 'watch'] as const) {
      const release = await state.lock(never, use);
      await state.save('checkpoint', record);
      await state.log('watch').replace([record]);
      await state.log('watch').remove();
      await state.remove('checkpoint');
      await release();
    }
    expect(readdirSync(state.folder)).toEqual(names.toSorted());
    for (const name of names) expect(readFileSync(join(state.folder, name), 'utf8')).toBe(name);
  });

  test('E6 clears away what a killed run left of its own, and leaves to a watch what may be being written now', async () => {
    const state = fileState(stateFolder());
    const fresh = (name: string): string => temporaryName(name, crypto.randomUUID());
    const lefts = {
      export: ['checkpoint', 'whatever', 'spool.log', 'lock-export'].map(fresh),
      watch: ['watch.log', 'lock-watch'].map(fresh),
    };
    for (const name of [...lefts.export, ...lefts.watch]) writeFileSync(join(state.folder, name), '');
    await (
      await state.lock(never, 'export')
    )();
    expect(readdirSync(state.folder)).toEqual(lefts.watch.toSorted());
    for (const name of lefts.export) writeFileSync(join(state.folder, name), '');
    await (
      await state.lock(never, 'watch')
    )();
    expect(readdirSync(state.folder)).toEqual(lefts.export.toSorted());
  });

  test.each(['mine', 'sluice', '\0\0\0\0'])(
    'E6 neither replaces nor removes a record of somebody else’s that begins with %j, and says so before',
    async (text) => {
      const state = fileState(stateFolder());
      const path = join(state.folder, 'checkpoint');
      writeFileSync(path, text);
      for (const attempt of [() => state.save('checkpoint', record), () => state.remove('checkpoint')]) {
        const error: unknown = await attempt().catch((reason: unknown) => reason);
        expect(error).toBeInstanceOf(CheckpointError);
        expect(error).toMatchObject({
          message: expect.stringMatching(/not written by Sluice.*nothing was changed\.$/),
        });
        expect(readFileSync(path, 'utf8')).toBe(text);
      }
      expect(readdirSync(state.folder)).toEqual(['checkpoint']);
    },
  );

  test('E6 replaces its own, also one that is damaged or empty, and looks again when it is locked again', async () => {
    const state = fileState(stateFolder());
    const path = join(state.folder, 'checkpoint');
    for (const text of ['', 'sluice-state 1\n{', 'sluice-state 9\n of a newer version']) {
      writeFileSync(path, text);
      await fileState(state.folder).save('checkpoint', record);
      expect(await state.load('checkpoint')).toEqual(record);
    }
    writeFileSync(path, 'mine');
    await (
      await state.lock(never)
    )();
    await expect(state.save('checkpoint', record)).rejects.toThrow(CheckpointError);
  });

  test('E9 a record is replaced whole or not at all, whatever call fails', async () => {
    let calls = 0;
    let failing = 0;
    const fileSystem = faultyFileSystem(() => ((calls += 1) === failing ? { code: 'ENOSPC' } : undefined));
    const state = fileState(stateFolder(), { fileSystem });
    const plain = fileState(state.folder);
    let isThrough = false;
    for (failing = 1; !isThrough; failing += 1) {
      await plain.save('checkpoint', { v: 1 });
      calls = 0;
      await state.save('checkpoint', { v: 2 }).catch((error: unknown) => {
        expect(error).toBeInstanceOf(SinkError);
        expect(error).toMatchObject({
          message: expect.stringMatching(/checkpoint can't be (written|opened|read) \(ENOSPC\): the disk is full/),
        });
      });
      // A failure to close what was only read is none of the save.
      isThrough = calls < failing;
      expect([{ v: 1 }, { v: 2 }]).toContainEqual(await plain.load('checkpoint'));
      // A file system that fails once lets the next write succeed.
      await plain.save('checkpoint', { v: 3 });
      expect(readdirSync(state.folder)).toEqual(['checkpoint']);
    }
    expect(failing).toBeGreaterThan(5);
  });

  test('E9 a disk that takes no more bytes without saying why is noticed', async () => {
    const full: FileSystem = {
      ...nodeFileSystem,
      open: async (path, mode) => ({ ...(await nodeFileSystem.open(path, mode)), write: () => Promise.resolve(0) }),
    };
    await expect(fileState(stateFolder(), { fileSystem: full }).save('checkpoint', record)).rejects.toThrow(
      /accepts no more bytes/,
    );
  });

  test('a disk that takes one byte at a time is no hindrance', async () => {
    const slow: FileSystem = {
      ...nodeFileSystem,
      open: async (path, mode) => {
        const file = await nodeFileSystem.open(path, mode);
        return {
          ...file,
          write: (bytes, position) => file.write(bytes.subarray(0, 1), position),
          read: (bytes, position) => file.read(bytes.subarray(0, 1), position),
        };
      },
    };
    const state = fileState(stateFolder(), { fileSystem: slow });
    await state.save('checkpoint', record);
    expect(await state.load('checkpoint')).toEqual(record);
  });

  test('needs a name for its folder', () => {
    expect(() => fileState('')).toThrow(ConfigError);
  });
});

describe('E9 a file system that promises less', () => {
  const on = (kind: Volume['kind'], options: FileStateOptions = {}): [FileStateOptions, string[]] => {
    const warnings: string[] = [];
    const fileSystem: FileSystem = { ...nodeFileSystem, volume: () => Promise.resolve({ id: '1', kind }) };
    return [{ fileSystem, onWarning: (message) => warnings.push(message), ...options }, warnings];
  };

  test('a network is refused, unless it is trusted', async () => {
    const folder = join(temporaryFolder(), 'state');
    await expect(fileState(folder, on('network')[0]).lock(never)).rejects.toThrow(
      /network file system.*Nothing was changed\..*trustFileSystem, or keep the state in a database\.$/,
    );
    expect(existsSync(folder)).toBe(false);
    const [options, warnings] = on('network', { trustFileSystem: true });
    await (
      await fileState(folder, options).lock(never)
    )();
    expect(warnings).toEqual([]);
  });

  test('memory is warned of once, also if a watch and its export share the state', async () => {
    const folder = join(temporaryFolder(), 'state');
    const [options, warnings] = on('memory');
    const state = fileState(folder, options);
    for (const use of ['watch', 'export'] as const) await (await state.lock(never, use))();
    expect(warnings).toEqual([`${folder} is in memory: an interrupted export is lost when the machine stops.`]);
    const [disk, none] = on('disk');
    await (
      await fileState(folder, disk).lock(never)
    )();
    expect(none).toEqual([]);
  });

  test.runIf(process.platform === 'linux')('this machine’s own are told apart', async () => {
    expect(await nodeFileSystem.volume('/dev/shm')).toMatchObject({ kind: 'memory' });
    const [here, there] = await Promise.all([
      nodeFileSystem.volume(temporaryFolder()),
      nodeFileSystem.volume('/dev/shm'),
    ]);
    expect(here.id).not.toBe(there.id);
  });
});
