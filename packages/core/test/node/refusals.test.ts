import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  chownSync,
  existsSync,
  lstatSync,
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
import { describe, expect, test } from 'vitest';
import {
  CheckpointError,
  exportTo,
  SinkError,
  type ExportOptions,
  type ExportReport,
  type SluiceError,
  type Source,
  type SourceDefinition,
  type StateStore,
} from '../../src/index.js';
import { fileSink, fileState, nodeFileSystem, type FileSystem, type FileTarget } from '../../src/node/index.js';
import { temporaryName } from '../../src/node/files/wholeFile.js';
import { namesBeside } from './namesBeside.js';
import { fileOf, partitionsOf } from './partitionRows.js';
import { temporaryFolder } from '../../../../test/kit/temporaryFolder.js';
import { textFormat } from './textRows.js';

const partitions = [
  [3, 3, 3],
  [2, 2, 2, 2],
];

/** Where it is stuck, the first part fails at its last page, once the other one is through: that waits in a segment. */
function source(more: Partial<SourceDefinition<string>> = {}, isStuck = false): Source<string> {
  return partitionsOf(
    partitions,
    async (partition, page) => {
      if (!isStuck || partition !== 0 || page !== 2) return;
      for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      throw new Error('interrupted');
    },
    more,
  );
}

function run(
  path: string,
  { from = source(), target, ...options }: ExportOptions & { from?: Source<string>; target?: Partial<FileTarget> } = {},
): Promise<ExportReport> {
  const state = fileState(`${path}.sluice`);
  return exportTo(from, fileSink(textFormat, { path, ...target }), { state, commitEvery: 1, ...options }).run();
}

/** An export that was interrupted, with rows in a segment; answers its path. */
async function interrupted(from = source({}, true)): Promise<string> {
  const path = join(temporaryFolder(), 'rows.txt');
  await expect(run(path, { from, concurrency: 2 })).rejects.toThrow('interrupted');
  expect(readdirSync(join(path, '..')).sort()).toEqual(['rows.txt.part', 'rows.txt.sluice']);
  expect(readdirSync(`${path}.sluice`).sort()).toEqual(['checkpoint', 'rows-1']);
  return path;
}

/** Everything in a folder, with its bytes. */
function contents(folder: string): Record<string, string> {
  return Object.fromEntries(
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .sort()
      .map((name) => [
        name,
        lstatSync(join(folder, name)).isFile() ? readFileSync(join(folder, name), 'latin1') : 'no file',
      ]),
  );
}

/** Runs into a refusal, and sees that nothing was changed by it. */
async function refused(path: string, options?: Parameters<typeof run>[1]): Promise<SluiceError> {
  const before = contents(join(path, '..'));
  const error: unknown = await run(path, options).catch((reason: unknown) => reason);
  expect(contents(join(path, '..'))).toEqual(before);
  expect(error).toBeInstanceOf(Error);
  return error as SluiceError;
}

const checkpointOf = (path: string): string => join(`${path}.sluice`, 'checkpoint');

describe('E6 what does not fit is refused, with the way out, and nothing is touched', () => {
  test('a state that belongs to another file', async () => {
    const path = await interrupted();
    const other = fileSink(textFormat, { path: join(path, '..', 'other.txt') });
    await expect(exportTo(source(), other, { state: fileState(`${path}.sluice`) }).run()).rejects.toMatchObject({
      code: 'checkpoint',
      message: expect.stringMatching(
        /other\.txt\.part no .*That checkpoint was written by an export to another target/,
      ),
    });
  });

  test.each<[string, (path: string) => void, RegExp]>([
    [
      'an edited .part',
      (path) => writeFileSync(`${path}.part`, readFileSync(`${path}.part`, 'utf8').replace('row 1', 'row 7')),
      /rows\.txt\.part was changed since/,
    ],
    [
      'a shorter .part',
      (path) => truncateSync(`${path}.part`, 5),
      /rows\.txt\.part is shorter \(5 bytes\) than its checkpoint says/,
    ],
    ['a .part that is gone', (path) => rmSync(`${path}.part`), /rows\.txt\.part no longer exists/],
    ['a segment that is gone', (path) => rmSync(join(`${path}.sluice`, 'rows-1')), /rows-1 no longer exists/],
    [
      'an edited segment',
      (path) => writeFileSync(join(`${path}.sluice`, 'rows-1'), 'x'.repeat(100)),
      /rows-1 was changed since/,
    ],
    ['a checkpoint without bytes', (path) => truncateSync(checkpointOf(path), 0), /checkpoint is empty/],
    [
      'a checkpoint with a flipped byte',
      (path) =>
        writeFileSync(checkpointOf(path), readFileSync(checkpointOf(path), 'utf8').replace('"rows":', '"rowz":')),
      /checkpoint is damaged/,
    ],
    [
      'a checkpoint of a newer version',
      (path) => writeFileSync(checkpointOf(path), 'sluice-state 7\n'),
      /another version of Sluice \(format 7/,
    ],
  ])('%s', async (_, damage, message) => {
    const path = await interrupted();
    damage(path);
    const error = await refused(path);
    expect(error).toBeInstanceOf(CheckpointError);
    expect(error.message).toMatch(message);
    expect(error.message).toMatch(/[Ss]tart over with restart: nothing was changed\.$/);
    // The way out works.
    expect(await run(path, { restart: true })).toMatchObject({ rows: 17, resumedRows: 0 });
    expect(readFileSync(path, 'utf8')).toBe(fileOf(partitions));
    expect(namesBeside(path)).toEqual(['rows.txt']);
  });

  test('another plan, and the message names what is different', async () => {
    const path = await interrupted();
    for (const [options, changed] of [
      [{ from: source({ identity: { partitions, pageSize: 7 } }) }, 'pageSize'],
      [{ from: source({ identity: { partitions: [[1]] } }) }, 'partitions'],
      [{ from: source({ schema: { columns: ['a'] } }) }, 'columns'],
      [{ from: source({ name: 'test.other' }) }, 'source'],
      [{ target: { gzip: true } }, 'gzip, pagesPerMember'],
    ] as const) {
      const error = await refused(path, options);
      expect(error).toBeInstanceOf(CheckpointError);
      expect(error.message).toBe(
        `The checkpoint was written with different settings (${changed}). Use the previous settings, or start over with restart: nothing was changed.`,
      );
    }
    // Neither concurrency nor how often it is committed are part of the plan.
    expect(await run(path, { concurrency: 3, commitEvery: 7, prefetch: 0 })).toMatchObject({ rows: 17 });
    expect(readFileSync(path, 'utf8')).toBe(fileOf(partitions));
  });

  test("another key's project, unless it is said to be the same", async () => {
    const withKey = (key: string, stopAt?: number): Source<string> => {
      let left = stopAt ?? Infinity;
      const stop = (): void => {
        if ((left -= 1) < 0) throw new Error('interrupted');
      };
      return partitionsOf(partitions, stop, {
        endpoint: { keyFingerprint: (salt) => Promise.resolve(`${key} and ${salt}`) },
      });
    };
    const path = join(temporaryFolder(), 'rows.txt');
    await expect(run(path, { from: withKey('one', 4) })).rejects.toThrow('interrupted');
    const error = await refused(path, { from: withKey('two') });
    expect(error).toBeInstanceOf(CheckpointError);
    expect(error.message).toMatch(/another API key.*sameProject, or start over with restart: nothing was changed\.$/);
    await expect(run(path, { from: withKey('two', 1), sameProject: true })).rejects.toThrow('interrupted');
    // From its first commit on it is the new key's.
    await refused(path, { from: withKey('one') });
    expect(await run(path, { from: withKey('two') })).toMatchObject({ rows: 17 });
    expect(readFileSync(path, 'utf8')).toBe(fileOf(partitions));
  });

  test('a .part without a checkpoint', async () => {
    const path = await interrupted();
    rmSync(`${path}.sluice`, { recursive: true });
    const error = await refused(path);
    expect(error).toBeInstanceOf(SinkError);
    expect(error.message).toMatch(/rows\.txt\.part exists already.*Start over with restart\.$/);
    await run(path, { restart: true });
    expect(readFileSync(path, 'utf8')).toBe(fileOf(partitions));
  });

  test('a .part, or a segment, of another user', async () => {
    const foreign = (name: string): FileSystem => ({
      ...nodeFileSystem,
      isOurs: (path) => Promise.resolve(!path.endsWith(name)),
    });
    for (const name of ['.part', 'rows-1']) {
      const path = await interrupted();
      const error = await refused(path, { target: { fileSystem: foreign(name) } });
      expect(error).toBeInstanceOf(CheckpointError);
      expect(error.message).toMatch(/belongs to another user.*nothing was changed\.$/);
    }
    const path = await interrupted();
    const error = await refused(path, { target: { fileSystem: foreign('.part') }, restart: true });
    expect(error.message).toMatch(/\.part belongs to another user.*Give another path\.$/);
  });

  test.runIf(process.geteuid?.() === 0)('a .part that was given to another user', async () => {
    const path = await interrupted();
    chownSync(`${path}.part`, 12_345, 12_345);
    expect(await refused(path)).toBeInstanceOf(CheckpointError);
    chownSync(`${path}.part`, 0, 0);
    await run(path);
  });

  test('a .part that is a link', async () => {
    const path = await interrupted();
    renameSync(`${path}.part`, `${path}.mine`);
    symlinkSync(`${path}.mine`, `${path}.part`);
    expect((await refused(path)).message).toMatch(/is a link, and links are not followed here/);
  });

  test('a target that exists', async () => {
    const path = await interrupted();
    writeFileSync(path, 'mine');
    const error = await refused(path);
    expect(error).toBeInstanceOf(SinkError);
    expect(error.message).toMatch(/exists already, and was not touched.*ifExists: 'overwrite'\.$/);
    expect(await run(path, { target: { ifExists: 'overwrite' } })).toMatchObject({ rows: 17 });
  });

  test.each<[string, (path: string) => void]>([
    ['a FIFO', (path) => execFileSync('mkfifo', [path])],
    ['a device', (path) => symlinkSync('/dev/null', path)],
    ['a folder', (path) => mkdirSync(path)],
  ])('a target that is %s', async (_, make) => {
    const path = join(temporaryFolder(), 'rows.txt');
    make(path);
    const error = await refused(path);
    expect(error).toBeInstanceOf(SinkError);
    expect(error.message).toMatch(/Give the name of a file\.$/);
    expect(existsSync(`${path}.sluice`)).toBe(false);
  });

  test('a target on another file system than its state', async () => {
    const path = join(temporaryFolder(), 'rows.txt');
    const twoDisks: FileSystem = {
      ...nodeFileSystem,
      volume: (folder) => Promise.resolve({ id: folder.endsWith('.sluice') ? '2' : '1', kind: 'disk' }),
    };
    const error = await refused(path, { target: { fileSystem: twoDisks } });
    expect(error).toBeInstanceOf(SinkError);
    expect(error.message).toMatch(/different file systems.*Keep the state next to the file\.$/);
    const begun = await interrupted();
    expect(await refused(begun, { target: { fileSystem: twoDisks } })).toBeInstanceOf(SinkError);
    await run(begun);
  });

  test.runIf(existsSync('/dev/shm'))('a target on the disk with its state in memory', async () => {
    const path = join(temporaryFolder(), 'rows.txt');
    const state = fileState(join('/dev/shm', `sluice-test-${process.pid}`));
    await expect(exportTo(source(), fileSink(textFormat, { path }), { state }).run()).rejects.toThrow(
      /different file systems/,
    );
    expect(existsSync(state.folder)).toBe(false);
  });
});

describe('E1 a kill before the old file is replaced', () => {
  test.each<[string, (path: string) => void, FileSystem]>([
    ['is a link', (path) => symlinkSync('elsewhere', path), nodeFileSystem],
    [
      'may not be read',
      (path) => writeFileSync(path, 'old'),
      {
        ...nodeFileSystem,
        open: (path, mode) =>
          path.endsWith('rows.txt')
            ? Promise.reject(Object.assign(new Error('EACCES'), { code: 'EACCES' }))
            : nodeFileSystem.open(path, mode),
      },
    ],
  ])('is made good by the next run, also if that file %s', async (_, make, fileSystem) => {
    const path = join(temporaryFolder(), 'rows.txt');
    writeFileSync(join(path, '..', 'elsewhere'), 'old');
    make(path);
    const stuck: FileSystem = { ...fileSystem, rename: () => Promise.reject(new Error('killed')) };
    const target = { ifExists: 'overwrite' } as const;
    await expect(run(path, { target: { ...target, fileSystem: stuck } })).rejects.toThrow(/given its final name/);
    expect(await run(path, { target: { ...target, fileSystem } })).toMatchObject({ rows: 17, resumedRows: 17 });
    expect(readFileSync(path, 'utf8')).toBe(fileOf(partitions));
  });
});

describe('E6 one state for two targets', () => {
  test('is refused before the first commit, when nothing else would tell them apart', async () => {
    const path = join(temporaryFolder(), 'rows.txt');
    const state = fileState(`${path}.sluice`);
    const killed: StateStore = {
      folder: state.folder,
      lock: (signal) => state.lock(signal),
      load: (name) => state.load(name),
      save: (name, record) => state.save(name, record),
      remove: () => Promise.resolve(),
      log: (name) => state.log(name),
    };
    await expect(run(path, { from: source({}, true), state: killed, commitEvery: 99 })).rejects.toThrow('interrupted');
    const other = join(path, '..', 'other.txt');
    writeFileSync(`${other}.part`, 'precious');
    await expect(run(other, { state })).rejects.toThrow(/another target/);
    expect(readFileSync(`${other}.part`, 'utf8')).toBe('precious');
  });
});

describe('E9 a .part that vanishes while the export runs', () => {
  test('is noticed at the next commit', async () => {
    const path = join(temporaryFolder(), 'rows.txt');
    let fetches = 0;
    const from = partitionsOf([Array.from({ length: 50 }, () => 1)], () => {
      if ((fetches += 1) === 10) rmSync(`${path}.part`);
    });
    await expect(run(path, { from })).rejects.toThrow(/was removed while the export ran, and its rows with it/);
    expect(fetches).toBeLessThan(14);
  });
});

describe('E6 restart', () => {
  test('replaces the checkpoint first, then the rows: killed in between, the next run starts over by itself', async () => {
    const path = await interrupted();
    const stuck: FileSystem = { ...nodeFileSystem, unlink: () => Promise.reject(new Error('killed')) };
    await expect(run(path, { target: { fileSystem: stuck }, restart: true })).rejects.toThrow(/replaced/);
    expect(existsSync(`${path}.part`)).toBe(true);
    expect(await run(path)).toMatchObject({ rows: 17, resumedRows: 0 });
    expect(readFileSync(path, 'utf8')).toBe(fileOf(partitions));
    expect(namesBeside(path)).toEqual(['rows.txt']);
  });

  test('takes a target that is not ours for no obstacle that it may remove', async () => {
    const path = join(temporaryFolder(), 'rows.txt');
    writeFileSync(path, 'mine');
    expect((await refused(path, { restart: true })).message).toMatch(/exists already/);
  });
});

describe('E1 what a kill leaves behind', () => {
  test('rows behind the last commit are cut off, in the file and in the segments', async () => {
    const path = await interrupted();
    appendFileSync(`${path}.part`, 'torn');
    appendFileSync(join(`${path}.sluice`, 'rows-1'), 'torn');
    writeFileSync(join(`${path}.sluice`, 'rows-9'), 'never named');
    writeFileSync(join(`${path}.sluice`, temporaryName('checkpoint', crypto.randomUUID())), 'torn');
    await run(path);
    expect(readFileSync(path, 'utf8')).toBe(fileOf(partitions));
    expect(namesBeside(path)).toEqual(['rows.txt']);
  });

  test('a folder that somebody else put something into is left to him', async () => {
    const path = await interrupted();
    writeFileSync(join(`${path}.sluice`, 'note.txt'), 'mine');
    await run(path);
    expect(contents(join(path, '..'))).toEqual({
      'rows.txt': fileOf(partitions),
      'rows.txt.sluice': 'no file',
      'rows.txt.sluice/checkpoint': expect.stringContaining('"finishedAt":') as string,
      'rows.txt.sluice/note.txt': 'mine',
    });
  });
});
