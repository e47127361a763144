import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { startSandbox } from '@sluice/sandbox';
import { describe, expect, test } from 'vitest';
import { bash, settingsFor, sluice } from './runSluice.js';
import { temporaryFolder } from './temporaryFolder.js';

const isLinux = process.platform === 'linux';
/** Permission bits don't stop root; these do. */
const unwritable: [string, string, RegExp][] = isLinux
  ? [
      ['that is a device', '/dev/full', /\/dev\/full is no regular file/],
      ['where nothing can be created, not even by root', '/proc/out.csv', /\/proc\/out\.csv\.part can't be created/],
    ]
  : [];
const fast = ['--rate', 'unlimited'];

describe('a target that can not be written', () => {
  test.each<[string, string, RegExp]>([
    [
      'in a folder that is not there',
      'gone/out.csv',
      /The folder \S+gone is not there\. Create it, or give another path\./,
    ],
    ['that is a folder', 'folder', /folder is a folder\. Give the name of a file\./],
    ['below a file', 'file/out.csv', /out\.csv|file/],
    ...unwritable,
  ])('%s is one sentence and exit code 1', async (_, to, sentence) => {
    await using sandbox = await startSandbox({ holdings: 10 });
    const cwd = temporaryFolder();
    await mkdir(join(cwd, 'folder'));
    await bash('touch file', [], { cwd });
    const args = ['nfts', 'export', '--owner', ...sandbox.owners, '--to', to, '--format', 'csv'];
    const { code, stdout, stderr } = await sluice(args, { env: settingsFor(sandbox), cwd });
    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^sluice: [^\n]+\n$/),
    });
    expect(stderr).toMatch(sentence);
    expect(await readdir(cwd)).toEqual(['file', 'folder']);
    expect(sandbox.counts.requests).toBe(0);
  });

  test.runIf(isLinux)('a device that is full, behind stdout, is a sentence too', async () => {
    await using sandbox = await startSandbox({ holdings: 10 });
    const args = ['nfts', 'export', '--owner', ...sandbox.owners, '--to', '-'];
    const { code, stderr } = await bash('"$@" > /dev/full', args, { env: settingsFor(sandbox) });
    expect({ code, stderr }).toEqual({ code: 1, stderr: "sluice: The output can't be written (ENOSPC).\n" });
  });

  test('E9 the largest allowed file is reached: a sentence, and nothing is left half-written', async () => {
    await using sandbox = await startSandbox({ holdings: 3000 });
    const cwd = temporaryFolder();
    const args = ['nfts', 'export', '--owner', ...sandbox.owners, '--to', 'out.csv', ...fast];
    const { code, stdout, stderr } = await bash('ulimit -f 64; exec "$@"', args, { env: settingsFor(sandbox), cwd });
    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^sluice: \S+out\.csv\.part can't be written \(EFBIG\): [^\n]*ulimit -f[^\n]*\n$/),
    });
    expect(await readdir(cwd)).toEqual([]);
  });
});

describe('a reader that goes away', () => {
  test.each([
    ['rows', ['nfts', 'export', '--to', '-', ...fast, '--owner']],
    ['rows, with progress as JSON', ['nfts', 'export', '--to', '-', '--progress', 'json', ...fast, '--owner']],
  ])('ends an export of %s quietly, with exit code 0', async (_, args) => {
    await using sandbox = await startSandbox({ holdings: 20_000 });
    const line = 'set -o pipefail; "$@" | head -n 2';
    const { code, stdout, stderr } = await bash(line, [...args, ...sandbox.owners], { env: settingsFor(sandbox) });
    expect(code).toBe(0);
    expect(stdout.startsWith('amount,')).toBe(true);
    expect(stderr).not.toContain('sluice:');
    expect(stderr).not.toContain('    at ');
    expect(sandbox.counts.requests).toBeLessThan(200);
  });

  test('ends a table, or the help, as quietly', async () => {
    await using sandbox = await startSandbox({ streams: 3000 });
    const line = 'set -o pipefail; "$@" | head -n 1';
    const env = settingsFor(sandbox);
    const table = await bash(line, ['streams', 'list', '--format', 'table', ...fast], { env });
    expect(table).toMatchObject({ code: 0, stdout: expect.stringMatching(/^id +status/) });
    expect(table.stderr).not.toContain('sluice:');
    expect(await bash(line, ['nfts', 'export', '--help'])).toMatchObject({ code: 0, stderr: '' });
  });
});
