import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { startSandbox } from '@sluice/sandbox';
import { expect, test } from 'vitest';
import { exportArgs, interrupt } from './interruptedExport.js';
import { settingsFor, sluice, startSluice } from './runSluice.js';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';

test('E8 a second process on the same target is refused, and told whom to wait for', { tags: ['slow'] }, async () => {
  await using sandbox = await startSandbox({ holdings: 3000, latency: 5 });
  const options = { env: settingsFor(sandbox), cwd: temporaryFolder() };
  const args = exportArgs(sandbox, 'out.csv');
  const first = startSluice(args, options);
  await sandbox.until(() => sandbox.counts.requests > 3);
  first.process.kill('SIGSTOP');
  for (const more of [[], ['--restart'], ['--break-lock']]) {
    const second = await sluice([...args, ...more], options);
    expect(second).toEqual({
      code: 1,
      stdout: '',
      stderr: `sluice: ${join(options.cwd, 'out.csv.sluice')} is in use by process ${String(first.process.pid)} on ${hostname().slice(0, 24)}.${more[0] === '--break-lock' ? ' It is alive, so its lock is not broken.' : ''} Wait until it is done, or stop it: nothing was changed.\n`,
    });
  }
  first.process.kill('SIGCONT');
  expect((await first.ended).code).toBe(0);
  expect(sandbox.counts.requests).toBe(30);
  expect((await readdir(options.cwd)).toSorted()).toEqual(['out.csv', 'out.csv.sluice']);
});

test(
  'E8 --break-lock takes the lock from one of whom nothing is known, and is left out of the command that goes on',
  { tags: ['slow'] },
  async () => {
    await using sandbox = await startSandbox({ holdings: 3000, latency: 5 });
    const options = { env: settingsFor(sandbox), cwd: temporaryFolder() };
    const state = join(options.cwd, 'out.csv.sluice');
    await mkdir(state);
    // As it is on a network file system.
    const claim = { place: 'elsewhere', socket: 'any' };
    await writeFile(join(state, `lock-export-${crypto.randomUUID()}-4711-elsewhere`), JSON.stringify(claim));
    const args = exportArgs(sandbox, 'out.csv');
    const refused = await sluice(args, options);
    expect(refused).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /is locked by process 4711 on elsewhere, and it is unknown whether that process still runs\. If it does not, take the lock with --break-lock, or keep the state in PostgreSQL \(--state postgres:\/\/user@host\/db\): nothing was changed\.\n$/,
      ),
    });
    const stopped = await interrupt(sandbox, [...args, '--break-lock'], { ...options, after: 15 });
    expect(stopped).toMatchObject({ code: 130, stderr: expect.stringContaining('rows committed. Resume with:') });
    expect(stopped.stderr).not.toContain('--break-lock');
    expect((await sluice(args, options)).code).toBe(0);
    expect((await readdir(options.cwd)).toSorted()).toEqual(['out.csv', 'out.csv.sluice']);
  },
);
