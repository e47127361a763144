import { execFile } from 'node:child_process';
import { mkdir, readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { startReceiver, startSandbox } from '@sluice/sandbox';
import { secret } from '../../packages/cli/test/forwarding.js';
import { type LockingJob, prepareFolder } from '../../packages/cli/test/lockingJobs.js';
import { settingsFor } from '../../packages/cli/test/runSluice.js';
import type { CellOrder, CellOutcome } from './cell.js';
import { Commands } from './commands.js';

const run = promisify(execFile);

/** Starts a command that locks its target, and does to it, in the middle of it, what the cell says. */
export async function playJob(job: LockingJob, { host, fate, stopped, folder }: CellOrder): Promise<CellOutcome> {
  // Slow enough that it still runs when a busy machine gets to it.
  await using sandbox = await startSandbox({ holdings: 3_000, latency: 20 });
  await using receiver = await startReceiver({ secrets: [secret], latency: 20 });
  const work = join(folder, 'work');
  await mkdir(work);
  const world = { sandbox, receiver, folder: prepareFolder(work) };
  const commands = new Commands({ ...settingsFor(sandbox), XDG_STATE_HOME: join(folder, 'settings') });
  const again = (cwd: string, ...more: string[]) => commands.start(host, [...job.args(world), ...more], cwd);
  try {
    const first = commands.start('one', job.args(world), work);
    const isUnderWay = (): boolean => job.isUnderWay(world);
    await Promise.race([sandbox.until(isUnderWay), receiver.until(isUnderWay), first.ended]);
    let last = work;
    switch (fate) {
      case 'killed':
        await first.kill();
        break;
      case 'stopped, continued':
      case 'stopped, killed':
        first.signal('SIGSTOP');
        await commands.expectRefused(again(work));
        await delay(stopped / 2);
        await commands.expectRefused(again(work, '--break-lock'));
        await delay(stopped / 2);
        await commands.expectRefused(again(work));
        if (fate === 'stopped, killed') await first.kill();
        else first.signal('SIGCONT');
        break;
      case 'copied, renamed':
        first.signal('SIGSTOP');
        await run('cp', ['-a', work, `${work}-copied`]);
        await commands.expectDone(again(`${work}-copied`));
        last = `${work}-renamed`;
        await rename(work, last);
        await commands.expectRefused(again(last));
        await first.kill();
    }
    await commands.expectDone(fate === 'stopped, continued' ? first : again(last));
    commands.expect(job.isComplete({ ...world, folder: last }), 'Rows are missing, or come twice.');
    for (const name of await readdir(folder, { recursive: true }))
      commands.expect(!name.includes('lock-'), `${name} is left.`);
    return commands;
  } finally {
    await commands.end();
  }
}
