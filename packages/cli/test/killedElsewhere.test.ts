import { mkdirSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { startReceiver, startSandbox } from '@sluice/sandbox';
import { describe, expect, test } from 'vitest';
import { hasContainers, inContainer, programIn } from '../../../test/kit/container.js';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';
import { secret } from './forwarding.js';
import { exportArgs } from './interruptedExport.js';
import { lockingJobs, prepareFolder } from './lockingJobs.js';
import { binFor, type Running, type RunOptions, settingsFor, startShell } from './runSluice.js';
import { quoteForShell } from '../src/terminal/text.js';

/** Starts `sluice` in a container. */
function startInContainer(host: string, args: readonly string[], options: RunOptions, before?: string): Running {
  const line = inContainer(host, [process.execPath, binFor(options), ...args], before);
  return startShell(`exec ${line.map(quoteForShell).join(' ')}`, options);
}

const cases = Object.entries(lockingJobs).flatMap(([name, job]) =>
  ['one', 'two'].map((host) => [name, host === 'one' ? 'the same name' : 'another name', host, job] as const),
);

describe.runIf(hasContainers)('E8 in a container of its own,', { tags: ['slow'] }, () => {
  test.each(cases)('%s that is killed is resumed by the same command in one of %s', async (_, _name, host, job) => {
    await using sandbox = await startSandbox({ holdings: 3000, latency: 5 });
    await using receiver = await startReceiver({ secrets: [secret], latency: 5 });
    const options = { env: settingsFor(sandbox), cwd: prepareFolder(temporaryFolder()) };
    const world = { sandbox, receiver, folder: options.cwd };
    const first = startInContainer('one', job.args(world), options);
    await Promise.race([sandbox.until(() => job.isUnderWay(world)), receiver.until(() => job.isUnderWay(world))]);
    process.kill(programIn(first.process), 'SIGKILL');
    expect((await first.ended).code).not.toBe(0);
    const second = await startInContainer(host, job.args(world), options).ended;
    expect(second).toMatchObject({ code: 0, stderr: expect.not.stringContaining('lock') });
    expect((await readdir(options.cwd, { recursive: true })).filter((name) => name.includes('lock-'))).toEqual([]);
    expect(job.isComplete(world)).toBe(true);
  });

  test.each(cases)('%s that is stopped keeps one of %s out, and goes on', async (_, _name, host, job) => {
    await using sandbox = await startSandbox({ holdings: 3000, latency: 5 });
    await using receiver = await startReceiver({ secrets: [secret], latency: 5 });
    const options = { env: settingsFor(sandbox), cwd: prepareFolder(temporaryFolder()) };
    const world = { sandbox, receiver, folder: options.cwd };
    const first = startInContainer('one', job.args(world), options);
    await Promise.race([sandbox.until(() => job.isUnderWay(world)), receiver.until(() => job.isUnderWay(world))]);
    process.kill(programIn(first.process), 'SIGSTOP');
    const more = host === 'one' ? [] : ['--break-lock'];
    expect(await startInContainer(host, [...job.args(world), ...more], options).ended).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('is in use by process 1 on one.'),
    });
    process.kill(programIn(first.process), 'SIGCONT');
    expect((await first.ended).code).toBe(0);
  });
  test('an export that is killed where no socket can be made needs --break-lock, and says so', async () => {
    await using sandbox = await startSandbox({ holdings: 3000, latency: 5 });
    const cwd = join(temporaryFolder(), 'a path that is too long for a socket'.repeat(4));
    mkdirSync(cwd);
    const options = { env: settingsFor(sandbox), cwd };
    const args = exportArgs(sandbox, 'out.csv');
    const hideProc = 'mount -t tmpfs none /proc &&';
    const first = startInContainer('one', args, options, hideProc);
    await sandbox.until(() => sandbox.counts.requests > 8);
    process.kill(programIn(first.process), 'SIGKILL');
    await first.ended;
    expect(await startInContainer('one', args, options).ended).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /out\.csv\.sluice is locked by process 1 on one, and it is unknown whether that process still runs\. If it does not, take the lock with --break-lock, or keep the state in PostgreSQL/,
      ),
    });
    expect(await startInContainer('one', [...args, '--break-lock'], options).ended).toMatchObject({ code: 0 });
  });
});
