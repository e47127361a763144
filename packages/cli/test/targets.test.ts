import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { startSandbox } from '@sluice/sandbox';
import { describe, expect, onTestFinished, test } from 'vitest';
import { exportArgs, exportedIn } from './interruptedExport.js';
import { bash, settingsFor, sluice } from './runSluice.js';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';

const isLinux = process.platform === 'linux';
/** Permission bits don't stop root; these do. */
const unwritable: [string, string, RegExp][] = isLinux
  ? [
      ['that is a device', '/dev/full', /\/dev\/full is not a regular file/],
      ['where nothing can be created, not even by root', '/proc/out.csv', /\/proc\/out\.csv\.sluice can't be created/],
    ]
  : [];
const fast = ['--rate', 'unlimited'];

describe('a target that can not be written', () => {
  test.each<[string, string, RegExp]>([
    [
      'in a folder that is not there',
      'gone/out.csv',
      /The folder \S+gone does not exist\. Create it, or give another path\./,
    ],
    ['that is a folder', 'folder', /folder is a folder\. Give the name of a file\./],
    ['below a file', 'file/out.csv', /out\.csv|file/],
    ...unwritable,
  ])('%s is one sentence and exit code 1', { tags: ['slow'] }, async (_, to, sentence) => {
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

  test.runIf(isLinux)('a device that is full, behind stdout, is a sentence too', { tags: ['slow'] }, async () => {
    await using sandbox = await startSandbox({ holdings: 10 });
    const args = ['nfts', 'export', '--owner', ...sandbox.owners, '--to', '-'];
    const { code, stderr } = await bash('"$@" > /dev/full', args, { env: settingsFor(sandbox) });
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: "sluice: The output can't be written (ENOSPC): the disk is full. Make room, then run it again.\n",
    });
  });

  test(
    'E9 the largest allowed file is reached before the first commit: a sentence, and nothing is left',
    { tags: ['slow'] },
    async () => {
      await using sandbox = await startSandbox({ holdings: 3000 });
      const cwd = temporaryFolder();
      const args = ['nfts', 'export', '--owner', ...sandbox.owners, '--to', 'out.csv', ...fast, '--commit-every', '50'];
      const { code, stdout, stderr } = await bash('ulimit -f 64; exec "$@"', args, { env: settingsFor(sandbox), cwd });
      expect({ code, stdout, stderr }).toEqual({
        code: 1,
        stdout: '',
        stderr: expect.stringMatching(
          /^sluice: \S+out\.csv\.part can't be written \(EFBIG\): [^\n]*ulimit -f[^\n]*\n$/,
        ),
      });
      expect(await readdir(cwd)).toEqual([]);
    },
  );

  test(
    'E9 the largest allowed file is reached later: the same command goes on where there is more room',
    { tags: ['slow'] },
    async () => {
      await using sandbox = await startSandbox({ holdings: 3000 });
      const options = { env: settingsFor(sandbox), cwd: temporaryFolder() };
      const args = exportArgs(sandbox, 'out.csv');
      const full = await bash('ulimit -f 500; exec "$@"', args, options);
      expect(full).toEqual({
        code: 1,
        stdout: '',
        stderr: expect.stringMatching(
          /^sluice: \S+out\.csv\.part can't be written \(EFBIG\): [^\n]*ulimit -f[^\n]* 1,200 rows committed; run the same command to resume\.\n$/,
        ),
      });
      const { code, stderr } = await sluice(args, options);
      expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(/^Resuming after 1,200 rows/) });
      const undisturbed = temporaryFolder();
      expect((await sluice(args, { ...options, cwd: undisturbed })).code).toBe(0);
      expect(exportedIn(options.cwd)).toEqual(exportedIn(undisturbed));
    },
  );

  test.runIf(isLinux && existsSync('/dev/shm'))(
    'E9 a target in memory is warned of, once',
    { tags: ['slow'] },
    async () => {
      await using sandbox = await startSandbox({ holdings: 500 });
      const cwd = await mkdtemp('/dev/shm/sluice-cli-');
      onTestFinished(() => rm(cwd, { recursive: true, force: true }));
      const run = (...more: string[]) =>
        sluice(exportArgs(sandbox, 'out.csv', ...more), { env: settingsFor(sandbox), cwd });
      expect(await run()).toEqual({
        code: 0,
        stdout: '',
        stderr: expect.stringMatching(
          /^sluice: \/dev\/shm\/\S+out\.csv\.sluice is in memory: an interrupted export is lost when the machine stops\.\n500 rows [^\n]+\n$/,
        ),
      });
      expect((await run('--if-exists', 'overwrite', '--quiet')).stderr).toBe('');
      // One that is refused has nothing to lose.
      expect((await run('--columns', 'name')).stderr).toMatch(/^sluice: \S+out\.csv exists already[^\n]*\n$/);
    },
  );

  test('E9 an API that fails in the middle: what is kept is the last sentence', { tags: ['slow'] }, async () => {
    let isDown = true;
    await using sandbox = await startSandbox({
      holdings: 3000,
      script: ({ nth }) => (isDown && nth > 14 ? { kind: 'status', status: 403 } : undefined),
    });
    const options = { env: settingsFor(sandbox), cwd: temporaryFolder() };
    const args = exportArgs(sandbox, 'out.csv');
    const failed = await sluice(args, options);
    expect(failed).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/ 403\b[^\n]+ 1,200 rows committed; run the same command to resume\.\n$/),
    });
    const again = await sluice([...args, '--restart', '--progress', 'json'], options);
    expect(again.code).toBe(1);
    expect(await readdir(options.cwd)).toEqual([]);
    isDown = false;
    expect((await sluice(args, options)).code).toBe(0);
  });
});

describe('a reader that goes away', () => {
  test.each([
    ['rows', ['nfts', 'export', '--to', '-', ...fast, '--owner']],
    ['rows, with progress as JSON', ['nfts', 'export', '--to', '-', '--progress', 'json', ...fast, '--owner']],
  ])('ends an export of %s quietly, with the exit code of SIGPIPE', { tags: ['slow'] }, async (_, args) => {
    await using sandbox = await startSandbox({ holdings: 20_000 });
    const line = 'set -o pipefail; "$@" | head -n 2';
    const { code, stdout, stderr } = await bash(line, [...args, ...sandbox.owners], { env: settingsFor(sandbox) });
    expect(code).toBe(141);
    expect(stdout.startsWith('amount,')).toBe(true);
    expect(stderr).not.toContain('sluice:');
    expect(stderr).not.toContain('    at ');
    expect(sandbox.counts.requests).toBeLessThan(200);
  });

  test('ends a table as quietly; the help fits into the pipe', { tags: ['slow'] }, async () => {
    await using sandbox = await startSandbox({ streams: 3000 });
    const line = 'set -o pipefail; "$@" | head -n 1';
    const env = settingsFor(sandbox);
    const table = await bash(line, ['streams', 'list', '--format', 'table', ...fast], { env });
    expect(table).toMatchObject({ code: 141, stdout: expect.stringMatching(/^id +status/) });
    expect(table.stderr).not.toContain('sluice:');
    expect(await bash(line, ['nfts', 'export', '--help'])).toMatchObject({ code: 0, stderr: '' });
  });
});
