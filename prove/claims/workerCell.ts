import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startSandbox } from '@sluice/sandbox';
import { settingsFor } from '../../packages/cli/test/runSluice.js';
import { startRedis } from '../../test/kit/redisServer.js';
import type { CellOrder, CellOutcome } from './cell.js';
import { Commands } from './commands.js';

const rows = 3_000;

/**
 * The folder of a run has no lock: links decide which commit of a partition counts, and Redis who walks it. So whoever works
 * beside a worker that is killed or stopped is not refused, and finishes the run.
 */
export async function playWorker({ host, fate, stopped, folder }: CellOrder): Promise<CellOutcome> {
  await using sandbox = await startSandbox({ holdings: rows, owners: 8, latency: 20 });
  const redis = await startRedis();
  const commands = new Commands({
    ...settingsFor(sandbox),
    SLUICE_REDIS_URL: redis.url,
    XDG_STATE_HOME: join(folder, 'settings'),
  });
  const sluice = (container: string, ...args: string[]) => commands.start(container, ['cluster', ...args], folder);
  const work = ['work', '--until-done', '--concurrency', '1', '--rate', 'unlimited', '--quiet'];
  try {
    await writeFile(join(folder, 'wallets.txt'), sandbox.owners.join('\n'));
    const wallets = ['--owners-file', 'wallets.txt', '--owners-per-request', '1', '--page-size', '20'];
    await commands.expectDone(sluice('one', 'submit', 'nfts', 'export', ...wallets, '--to', 'run'));
    const first = sluice('one', ...work);
    await Promise.race([sandbox.until(() => sandbox.counts.requests > 20), first.ended]);
    first.signal('SIGSTOP');
    for (const entry of await readdir(join(folder, 'run'), { recursive: true, withFileTypes: true }))
      commands.expect(!entry.isSocket() && !entry.name.includes('lock-'), `${entry.name} looks like a lock.`);
    const since = performance.now();
    if (fate === 'killed') await first.kill();
    await commands.expectDone(sluice(host, ...work));
    if (fate !== 'killed') await delay(stopped - (performance.now() - since));
    if (fate === 'stopped, killed') await first.kill();
    if (fate === 'stopped, continued') {
      first.signal('SIGCONT');
      await commands.expectDone(first);
    }
    await commands.expectDone(sluice(host, 'merge', 'run', '--to', 'rows.jsonl'));
    const lines = (await readFile(join(folder, 'rows.jsonl'), 'utf8')).trimEnd().split('\n');
    const isComplete = lines.length === rows && new Set(lines).size === lines.length;
    commands.expect(isComplete, 'Rows are missing, or come twice.');
    return commands;
  } finally {
    await commands.end();
    await redis.close();
  }
}
