import { existsSync, lstatSync, mkdirSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { exportTo, type ExportOptions } from '../../src/index.js';
import { fileSink, fileState, nodeFileSystem, type FileTarget } from '../../src/node/index.js';
import { temporaryFolder } from '../../../../test/kit/temporaryFolder.js';
import { namesBeside } from './namesBeside.js';
import { fileOf, partitionsOf, type OnFetch } from './partitionRows.js';
import { textFormat } from './textRows.js';

const partitions = [[2, 2], [2]];
const whole = fileOf(partitions);
const old = 'rows\nan old row\n';

interface Run extends ExportOptions {
  readonly target?: Partial<FileTarget>;
  readonly onFetch?: OnFetch;
}

function run(path: string, { target, onFetch, ...options }: Run = {}) {
  const sink = fileSink(textFormat, { path, ifExists: 'overwrite', ...target });
  return exportTo(partitionsOf(partitions, onFetch), sink, { state: fileState(`${path}.sluice`), ...options }).run();
}

/** A link, through which a file is reached that has old rows. */
function linked(make: (folder: string, file: string) => string): { readonly link: string; readonly file: string } {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'data'));
  const file = join(folder, 'data', 'november.txt');
  writeFileSync(file, old);
  return { link: make(folder, file), file };
}

const kinds: readonly [string, (folder: string, file: string) => string][] = [
  [
    'into another folder',
    (folder, file) => {
      symlinkSync(file, join(folder, 'latest.txt'));
      return join(folder, 'latest.txt');
    },
  ],
  [
    'that is relative',
    (folder) => {
      symlinkSync('november.txt', join(folder, 'data', 'latest.txt'));
      return join(folder, 'data', 'latest.txt');
    },
  ],
  [
    'to a link in a folder that is a link',
    (folder) => {
      symlinkSync('data', join(folder, 'now'));
      symlinkSync('../data/november.txt', join(folder, 'data', 'one.txt'));
      symlinkSync('now/one.txt', join(folder, 'two.txt'));
      return join(folder, 'two.txt');
    },
  ],
];

describe.each(kinds)('D3 a link %s', (_, make) => {
  test('stays when what it leads to is overwritten', async () => {
    const { link, file } = linked(make);
    const to = readlinkSync(link);
    const seen: string[] = [];
    await run(link, { commitEvery: 1, onFetch: () => void seen.push(readFileSync(link, 'utf8')) });
    expect(readlinkSync(link)).toBe(to);
    expect(lstatSync(file).isFile()).toBe(true);
    expect(readFileSync(file, 'utf8')).toBe(whole);
    // It is replaced at once, so what is unfinished is beside it.
    expect(new Set(seen)).toEqual(new Set([old]));
    expect(existsSync(`${file}.part`) || existsSync(`${link}.part`)).toBe(false);
    expect(namesBeside(link).filter((name) => name.endsWith('.part'))).toEqual([]);
  });

  test('stays when rows are appended to what it leads to, once', async () => {
    const { link, file } = linked(make);
    const target = { ifExists: 'append' } as const;
    await run(link, { target });
    expect((await run(link, { target })).finishedAt).toBeDefined();
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    expect(readFileSync(file, 'utf8')).toBe(old + whole.slice('rows\n'.length));
  });

  test('is written by the run that resumes', { tags: ['slow'] }, async () => {
    const { link, file } = linked(make);
    const onFetch: OnFetch = (partition) => {
      if (partition === 1) throw new Error('killed');
    };
    await expect(run(link, { commitEvery: 1, onFetch })).rejects.toThrow('killed');
    expect(existsSync(`${file}.part`)).toBe(true);
    expect(readFileSync(link, 'utf8')).toBe(old);
    expect(await run(link)).toMatchObject({ rows: 6, resumedRows: 4 });
    expect(readFileSync(file, 'utf8')).toBe(whole);
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
  });

  test('to a file that exists is refused by default', async () => {
    const { link, file } = linked(make);
    await expect(run(link, { target: { ifExists: 'fail' } })).rejects.toThrow(
      `${file} exists already, and was not touched.`,
    );
  });
});

test.each(['fail', 'overwrite', 'append'] as const)(
  'D3 a link that leads nowhere is refused with %s',
  async (ifExists) => {
    const link = join(temporaryFolder(), 'latest.txt');
    symlinkSync('gone.txt', link);
    await expect(run(link, { target: { ifExists } })).rejects.toThrow('or a link that leads nowhere');
    expect(readlinkSync(link)).toBe('gone.txt');
  },
);

test('D3 a link to another file system than that of its state is refused', async () => {
  const { link, file } = linked((folder, to) => {
    symlinkSync(to, join(folder, 'latest.txt'));
    return join(folder, 'latest.txt');
  });
  const fileSystem = {
    ...nodeFileSystem,
    volume: (folder: string) => Promise.resolve({ id: folder.endsWith('data') ? '2' : '1', kind: 'disk' as const }),
  };
  await expect(run(link, { target: { fileSystem } })).rejects.toThrow(
    /november\.txt and its state in .* different file/,
  );
  expect(readFileSync(file, 'utf8')).toBe(old);
});
