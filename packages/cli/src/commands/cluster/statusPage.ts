import type { ClusterStatus } from '@sluice/cluster';
import type { ClusterView } from '@sluice/dashboard';
import { setTimeout as delay } from 'node:timers/promises';
import type { Environment } from '../../environment/environment.js';
import { redact } from '../../errors/redact.js';
import { announce, loadDashboard, pageOptions, type DashboardOption } from '../../source/dashboardPage.js';
import { formatCount } from '../../terminal/format.js';
import { quoteForShell } from '../../terminal/text.js';
import type { NamedRun } from './withCluster.js';

/** Ms between looks. */
const lookEvery = 1_000;

/** Shows a run on a page until it has ended, and returns its last status. @throws the reason of the signal */
export async function showOnPage(
  { target }: Pick<NamedRun, 'target'>,
  look: () => Promise<ClusterStatus>,
  options: DashboardOption,
  environment: Environment,
): Promise<ClusterStatus> {
  const { signal, secrets, command } = environment;
  const { openDashboard } = await loadDashboard();
  const page = openDashboard(await pageOptions(options, environment));
  try {
    await announce(page, options, environment);
    let status = await look();
    const { name, source } = status;
    page.show({
      kind: 'cluster',
      title: `${name}: ${source}`,
      target: redact(target, secrets),
      command: `${command} cluster status ${quoteForShell(name)} --wait`,
    });
    for (;;) {
      page.showCluster(createView(status, Date.now()));
      if (status.state !== 'active' && status.state !== 'unknown') break;
      await delay(lookEvery, undefined, { signal }).catch(() => undefined);
      signal.throwIfAborted();
      status = await look();
    }
    const { failed, rows, isCancelled } = status;
    const message = `${formatCount(rows, 'row')}, ${formatCount(failed, 'partition')} given up.`;
    page.end({ outcome: isCancelled ? 'stopped' : failed > 0 ? 'failed' : 'finished', message });
    return status;
  } catch (error) {
    page.end({ outcome: 'stopped', message: 'Nobody looks at the run any more. Its workers go on.' });
    throw error;
  } finally {
    await page.close();
  }
}

function createView(status: ClusterStatus, now: number): ClusterView {
  const { name, partitions, done, rows, jobs, failed, failures, workers, redisError } = status;
  return {
    redisError,
    partitions,
    done,
    rows,
    active: jobs.active,
    delayed: jobs.delayed,
    failed,
    failures: failures.map(({ partition, reason }) => [partition, reason] as const),
    workers: workers.map(({ host, pid, runs }) => {
      const own = runs.find(({ run }) => run === name);
      return {
        name: `${host}, process ${pid}`,
        working: (own?.working ?? []).map(({ partition, since }) => [partition, Math.max(0, now - since)] as const),
        rows: own?.rows ?? 0,
        unable: own?.unable ?? '',
      };
    }),
  };
}
