import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { exportTo, HttpError, memoryState, SinkError, type ExportReport } from '@sluice/core';
import { nodeFileSystem, type FileSystem } from '@sluice/core/node';
import { startSandbox, type Fault, type Sandbox, type SandboxRequest } from '@sluice/sandbox';
import { describe, expect, onTestFinished, test } from 'vitest';
import { csv, type CsvOptions } from '../src/csv.js';
import { sandboxClient } from './sandboxClient.js';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';

/** A sandbox of 10 pages, with what is to be looked at or to go wrong at each of them. */
async function sandboxOf(script?: (request: SandboxRequest) => Fault | undefined): Promise<Sandbox> {
  const sandbox = await startSandbox({ holdings: 1_000, ...(script && { script }) });
  onTestFinished(() => sandbox.close());
  return sandbox;
}

async function exportFrom(sandbox: Sandbox, options: CsvOptions): Promise<ExportReport> {
  await using client = sandboxClient(sandbox);
  return await exportTo(client.aptos.nfts({ ownerAddresses: sandbox.owners }), csv(options)).run();
}

describe('E2 the final name', () => {
  test('is free until the whole file takes it', async () => {
    const folder = temporaryFolder();
    const seen: string[][] = [];
    const sandbox = await sandboxOf(() => {
      seen.push(readdirSync(folder));
      return undefined;
    });
    await exportFrom(sandbox, { path: join(folder, 'holdings.csv') });
    expect(seen).toEqual(Array(10).fill(['holdings.csv.part']));
    expect(readdirSync(folder)).toEqual(['holdings.csv']);
  });

  test('holds the old file until the new one replaces it', async () => {
    const path = join(temporaryFolder(), 'holdings.csv');
    writeFileSync(path, 'the old file');
    const seen: string[] = [];
    const sandbox = await sandboxOf(() => {
      seen.push(readFileSync(path, 'utf8'));
      return undefined;
    });
    const { bytes } = await exportFrom(sandbox, { path, ifExists: 'overwrite' });
    expect(seen).toEqual(Array(10).fill('the old file'));
    expect(readFileSync(path)).toHaveLength(bytes ?? 0);
  });

  test('stays free when the API fails half-way', async () => {
    const folder = temporaryFolder();
    const sandbox = await sandboxOf(({ nth }) => (nth === 5 ? { kind: 'status', status: 500 } : undefined));
    await expect(exportFrom(sandbox, { path: join(folder, 'holdings.csv') })).rejects.toThrow(HttpError);
    expect(readdirSync(folder)).toEqual([]);
  });

  test('keeps the old file when the API fails half-way', async () => {
    const folder = temporaryFolder();
    const path = join(folder, 'holdings.csv');
    writeFileSync(path, 'the old file');
    const sandbox = await sandboxOf(({ nth }) => (nth >= 5 ? { kind: 'reset' } : undefined));
    await expect(exportFrom(sandbox, { path, ifExists: 'overwrite' })).rejects.toMatchObject({ code: 'network' });
    expect(readdirSync(folder)).toEqual(['holdings.csv']);
    expect(readFileSync(path, 'utf8')).toBe('the old file');
  });

  test('stays free when the export is stopped', async () => {
    const folder = temporaryFolder();
    const stop = new AbortController();
    const sandbox = await sandboxOf(({ nth }) => {
      if (nth === 5) stop.abort(new Error('enough'));
      return undefined;
    });
    await using client = sandboxClient(sandbox);
    const holdings = client.aptos.nfts({ ownerAddresses: sandbox.owners });
    const run = exportTo(holdings, csv({ path: join(folder, 'holdings.csv') })).run({ signal: stop.signal });
    await expect(run).rejects.toThrow('enough');
    expect(readdirSync(folder)).toEqual([]);
    expect(sandbox.counts.requests).toBe(5);
  });
});

describe('E9 before any request, an export says clearly that', () => {
  test.each<[string, (path: string) => Partial<CsvOptions> | undefined, RegExp]>([
    ['the target exists', (path) => void writeFileSync(path, 'mine'), /exists already.*overwrite/],
    ['the target is a folder', (path) => void mkdirSync(path), /is a folder/],
    ['the target is a pipe', (path) => void execFileSync('mkfifo', [path]), /not a regular file/],
    ['the target is a device', (path) => void symlinkSync('/dev/null', path), /not a regular file/],
    ['the target is a full device', () => ({ path: '/dev/full' }), /not a regular file/],
    ['the target is a link that leads nowhere', (path) => void symlinkSync('nowhere', path), /not a regular file/],
    ['the folder is missing', (path) => ({ path: join(path, 'holdings.csv') }), /folder .* does not exist/],
    [
      'the folder is a file',
      (path) => {
        writeFileSync(path, 'mine');
        return { path: join(path, 'holdings.csv') };
      },
      /is not a folder/,
    ],
    [
      'a file lies on the way to the folder',
      (path) => {
        writeFileSync(path, 'mine');
        return { path: join(path, 'deep', 'holdings.csv') };
      },
      /ENOTDIR/,
    ],
    ['the name is too long', (path) => ({ path: `${path}${'x'.repeat(300)}` }), /ENAMETOOLONG.*too long/],
    ['the .part file of another export is there', (path) => void writeFileSync(`${path}.part`, 'x'), /restart/],
    [
      'a folder has the name of the .part file',
      (path) => void mkdirSync(`${path}.part`),
      /is not a regular file, and its name is needed/,
    ],
  ])('%s', async (_what, prepare, message) => {
    const folder = temporaryFolder();
    const path = join(folder, 'holdings.csv');
    const options = { path, ...prepare(path) };
    const before = readdirSync(folder);
    const sandbox = await sandboxOf();
    const error: unknown = await exportFrom(sandbox, options).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(SinkError);
    expect(error).toHaveProperty('message', expect.stringMatching(message));
    expect(readdirSync(folder)).toEqual(before);
    expect(sandbox.counts.requests).toBe(0);
  });

  test.each([
    ['a folder', (path: string) => void mkdirSync(path)],
    ['a pipe', (path: string) => void execFileSync('mkfifo', [path])],
    ['a link that leads nowhere', (path: string) => void symlinkSync('nowhere', path)],
  ])('%s is not overwritten either', async (_what, prepare) => {
    const path = join(temporaryFolder(), 'holdings.csv');
    prepare(path);
    const sandbox = await sandboxOf();
    await expect(exportFrom(sandbox, { path, ifExists: 'overwrite' })).rejects.toThrow(SinkError);
    expect(sandbox.counts.requests).toBe(0);
  });
});

describe('E9 a target that', () => {
  test('appears while the export runs is not touched, and no row is lost', { tags: ['slow'] }, async () => {
    const folder = temporaryFolder();
    const path = join(folder, 'holdings.csv');
    const sandbox = await sandboxOf(({ nth }) => {
      if (nth === 5) writeFileSync(path, 'mine');
      return undefined;
    });
    await expect(exportFrom(sandbox, { path })).rejects.toThrow(/appeared.*not touched.*All rows are in .*\.part/);
    expect(readFileSync(path, 'utf8')).toBe('mine');
    const whole = join(temporaryFolder(), 'whole.csv');
    await exportFrom(await sandboxOf(), { path: whole });
    expect(readFileSync(`${path}.part`).equals(readFileSync(whole))).toBe(true);
  });

  test('is a link to a file stays, and the file it leads to is replaced', { tags: ['slow'] }, async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'old.csv'), 'the old file');
    const path = join(folder, 'latest.csv');
    symlinkSync('old.csv', path);
    const sandbox = await sandboxOf();
    await expect(exportFrom(sandbox, { path })).rejects.toThrow(/exists already/);
    const { bytes } = await exportFrom(sandbox, { path, ifExists: 'overwrite' });
    expect(readFileSync(join(folder, 'old.csv'))).toHaveLength(bytes ?? 0);
    expect(readlinkSync(path)).toBe('old.csv');
    expect(readdirSync(folder)).toEqual(['latest.csv', 'old.csv']);
  });

  test('has the .part file of an interrupted export is written anew with restart', async () => {
    const folder = temporaryFolder();
    const path = join(folder, 'holdings.csv');
    writeFileSync(`${path}.part`, 'left behind '.repeat(100_000));
    const sandbox = await sandboxOf();
    await using client = sandboxClient(sandbox);
    const holdings = client.aptos.nfts({ ownerAddresses: sandbox.owners });
    const { bytes } = await exportTo(holdings, csv({ path }), { restart: true }).run();
    expect(readdirSync(folder)).toEqual(['holdings.csv']);
    expect(readFileSync(path)).toHaveLength(bytes ?? 0);
    expect(readFileSync(path, 'utf8')).toMatch(/^amount,/);
  });
});

test('E9 a disk that is full stops the walk: the request under way is aborted, and none follows', async () => {
  const folder = temporaryFolder();
  const sandbox = await startSandbox({
    holdings: 1_000,
    script: ({ nth }) => (nth > 3 ? { kind: 'never' } : undefined),
  });
  onTestFinished(() => sandbox.close());
  let writes = 0;
  const full: FileSystem = {
    ...nodeFileSystem,
    open: async (path, mode) => {
      const file = await nodeFileSystem.open(path, mode);
      const write: typeof file.write = async (bytes, position) => {
        if ((writes += 1) < 3) return file.write(bytes, position);
        await sandbox.until(() => sandbox.counts.requests === 4);
        throw Object.assign(new Error('no space left'), { code: 'ENOSPC' });
      };
      return { ...file, write };
    },
  };
  await using client = sandboxClient(sandbox);
  const holdings = client.aptos.nfts({ ownerAddresses: sandbox.owners });
  const sink = csv({ path: join(folder, 'holdings.csv'), fileSystem: full });
  // Each page is written before the next one is taken.
  const run = exportTo(holdings, sink, { state: memoryState(), commitEvery: 1 }).run();
  await expect(run).rejects.toMatchObject({ code: 'sink', details: { platformCode: 'ENOSPC' } });
  await sandbox.until(() => sandbox.counts.open === 0);
  expect(sandbox.counts).toMatchObject({ requests: 4, aborted: 1 });
  expect(readdirSync(folder)).toEqual(['holdings.csv.part']);
});

test('E9 a path that names no file is refused at once', () => {
  for (const path of ['', 'folder/', '/']) expect(() => csv({ path })).toThrow(/path/);
  expect(existsSync('folder')).toBe(false);
});
