import { once } from 'node:events';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { startSandbox } from '@sluice/sandbox';
import { describe, expect, test } from 'vitest';
import { settingsFor, startSluice } from './runSluice.js';
import { temporaryFolder } from './temporaryFolder.js';

const fast = ['--rate', 'unlimited'];

describe('E9 a signal in the middle of an export', () => {
  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)('%s: exit code %i, one sentence, and nothing is left behind', async (signal, exitCode) => {
    await using sandbox = await startSandbox({ holdings: 100_000, latency: 5 });
    const cwd = temporaryFolder();
    const args = ['nfts', 'export', '--owner', ...sandbox.owners, '--to', 'out.csv', ...fast];
    const { process, ended } = startSluice(args, { env: settingsFor(sandbox), cwd });
    await sandbox.until(() => sandbox.counts.requests > 20);
    expect(await readdir(cwd)).toEqual(['out.csv.part']);
    process.kill(signal);
    expect(await ended).toEqual({
      code: exitCode,
      stdout: '',
      stderr: expect.stringMatching(
        new RegExp(
          `^sluice: Stopped by ${signal}\\. [\\d,]+ rows had come; [^\\n]*Run the same command again[^\\n]*\\n$`,
        ),
      ),
    });
    expect(await readdir(cwd)).toEqual([]);
  });

  test('an existing file that was to be overwritten stays as it was', async () => {
    await using sandbox = await startSandbox({ holdings: 100_000, latency: 5 });
    const cwd = temporaryFolder();
    await writeFile(join(cwd, 'out.csv'), 'mine');
    const args = [
      'nfts',
      'export',
      '--owner',
      ...sandbox.owners,
      '--to',
      'out.csv',
      '--if-exists',
      'overwrite',
      ...fast,
    ];
    const { process, ended } = startSluice(args, { env: settingsFor(sandbox), cwd });
    await sandbox.until(() => sandbox.counts.requests > 20);
    process.kill('SIGINT');
    expect((await ended).code).toBe(130);
    expect(await readdir(cwd)).toEqual(['out.csv']);
    expect(await readFile(join(cwd, 'out.csv'), 'utf8')).toBe('mine');
  });

  test.each([
    ['an answer that does not come', { latency: 60_000 }, []],
    ['the limiter', {}, ['--rate', '1/h']],
    [
      'a pause that the API asked for',
      { script: () => ({ kind: 'status', status: 429, headers: { 'retry-after': '50' } }) as const },
      [],
    ],
  ])('takes effect at once while it waits for %s', async (_, options, more) => {
    await using sandbox = await startSandbox({ holdings: 100_000, ...options });
    const args = ['nfts', 'export', '--owner', ...sandbox.owners, '--to', '-', ...more];
    const { process, ended } = startSluice(args, { env: settingsFor(sandbox) });
    await sandbox.until(() => sandbox.counts.requests > 0);
    await wait(200);
    process.kill('SIGINT');
    const { code, stderr } = await ended;
    expect({ code, stderr }).toEqual({
      code: 130,
      stderr: expect.stringMatching(/^sluice: Stopped by SIGINT\. The output ends early, after [^\n]+\n$/),
    });
  });

  test('--progress json tells it as the last event', async () => {
    await using sandbox = await startSandbox({ holdings: 100_000, latency: 5 });
    const args = ['nfts', 'export', '--owner', ...sandbox.owners, '--to', 'out.csv', '--progress', 'json', ...fast];
    const { process, ended } = startSluice(args, { env: settingsFor(sandbox), cwd: temporaryFolder() });
    await sandbox.until(() => sandbox.counts.requests > 20);
    process.kill('SIGTERM');
    const { code, stderr } = await ended;
    const last: unknown = JSON.parse(stderr.trimEnd().split('\n').at(-1) ?? '');
    expect({ code, last }).toMatchObject({
      code: 143,
      last: { event: 'stopped', exitCode: 143, message: expect.stringContaining('SIGTERM') },
    });
  });

  test('a second one ends the process at once, even if the export can not close', async () => {
    await using sandbox = await startSandbox({ holdings: 100_000 });
    const args = ['nfts', 'export', '--owner', ...sandbox.owners, '--to', '-', ...fast];
    const { process, ended } = startSluice(args, { env: settingsFor(sandbox) });
    // Nobody reads stdout any more, and nobody closes it: a write that is under way never ends.
    process.stdout.pause();
    await sandbox.until(() => sandbox.counts.requests > 0);
    let asked = 0;
    while (sandbox.counts.requests !== asked) {
      asked = sandbox.counts.requests;
      await wait(500);
    }
    process.kill('SIGINT');
    await wait(300);
    expect(process.exitCode).toBeNull();
    const exited = once(process, 'exit');
    process.kill('SIGINT');
    expect(await exited).toEqual([130, null]);
    process.stdout.resume();
    await ended;
  });
});
