import type { ClusterStatus, NamedLimit, RegisteredRun, WorkerPresence } from '@sluice/cluster';
import { setTimeout as delay } from 'node:timers/promises';
import type { Run } from '../../config/config.js';
import type { Environment } from '../../environment/environment.js';
import { refuseClosed } from '../../environment/output.js';
import { exitCodes, Failure, UsageError } from '../../errors/errors.js';
import type { CommandOptions } from '../../options/commands.js';
import { listFlaws } from '../../export/messages.js';
import { formatCount, formatDuration, formatNumber } from '../../terminal/format.js';
import { table } from '../../terminal/textTable.js';
import { labelledLines, visibleText } from '../../terminal/text.js';
import { showOnPage } from './statusPage.js';
import { withCluster, withNamedRun, type NamedRun, type OpenedCluster } from './withCluster.js';

/** Ms between looks while a run is waited for. */
const lookEvery = 2_000;
/** Workers, and partitions of each, that are listed. */
const maxShown = 20;

/** `sluice cluster status [RUN]`: says how far a run is and who works on it, or lists all runs. */
export const clusterStatus: Run<'cluster status'> = (options, environment) => {
  refuseClosed(environment.stdout);
  if (options.run === undefined && options.dashboard !== undefined)
    throw new UsageError('--dashboard shows one run: name it. "sluice cluster status" lists what there is.');
  if (options.run === undefined)
    return withCluster(options, environment, (opened) => listRuns(options, environment, opened));
  return withNamedRun(options.run, options, environment, (run, opened) => showRun(run, options, environment, opened));
};

async function listRuns(
  { format }: CommandOptions<'cluster status'>,
  { stdout, stderr }: Environment,
  { cluster }: OpenedCluster,
): Promise<number> {
  const runs = await cluster.runs();
  if (format === 'json') await stdout.write(`${JSON.stringify(runs)}\n`);
  else if (runs.length > 0) await stdout.write(table(runColumns, runs, stdout).text);
  else stderr.print('Redis knows no run.\n');
  return exitCodes.done;
}

const runColumns = [
  { title: 'run', cell: ({ name }: RegisteredRun) => name },
  { title: 'state', cell: ({ state, failed }: RegisteredRun) => (failed > 0 ? `${state}, ${failed} failed` : state) },
  { title: 'partitions', cell: ({ partitions }: RegisteredRun) => formatNumber(partitions) },
  { title: 'source', cell: ({ source }: RegisteredRun) => source },
  { title: 'to', cell: ({ target }: RegisteredRun) => target },
];

async function showRun(
  named: NamedRun,
  options: CommandOptions<'cluster status'>,
  environment: Environment,
  opened: OpenedCluster,
): Promise<number> {
  const { run, name, target } = named;
  const { format, wait = false, dashboard } = options;
  const { stdout, stderr, signal } = environment;
  const look = (): Promise<ClusterStatus> => opened.cluster.status(name, run);
  let status = dashboard === undefined ? await look() : await showOnPage(named, look, options, environment);
  while (wait && (status.state === 'active' || status.state === 'unknown')) {
    stderr.print(`${doneText(status)}\n`);
    await delay(lookEvery, undefined, { signal }).catch(() => undefined);
    signal.throwIfAborted();
    status = await look();
  }
  const shown = { ...status, target };
  await stdout.write(format === 'json' ? `${JSON.stringify(shown)}\n` : listLines(shown, Date.now()).join('\n') + '\n');
  if (status.redisError !== undefined) throw new Failure(`Who works on ${name} is not known. ${status.redisError}`);
  return status.failed > 0 && status.state !== 'active' ? exitCodes.failed : exitCodes.done;
}

function stateText({ state, isCancelled, redisError }: ClusterStatus): string {
  if (isCancelled) return 'cancelled';
  return state === 'unknown' && redisError === undefined
    ? 'unknown to Redis: unless a worker registers it again within seconds, submit it again'
    : state;
}

function doneText(status: ClusterStatus): string {
  const { done, partitions, rows } = status;
  const share = partitions === 0 ? '' : ` (${((100 * done) / partitions).toFixed(1)} %)`;
  return [
    `${formatNumber(done)} of ${formatCount(partitions, 'partition')}${share}`,
    formatCount(rows, 'row'),
    ...listFlaws(status),
  ].join(', ');
}

function listLines(status: ClusterStatus & { readonly target: string }, now: number): string[] {
  return [visibleText(status.name), ...labelledLines(listFacts(status, now))];
}

function* listFacts(
  status: ClusterStatus & { readonly target: string },
  now: number,
): Generator<[label: string, text: string]> {
  const { name, source, target, redisError, jobs, failed, failures, workers, limits } = status;
  yield ['state', stateText(status)];
  yield ['source', source];
  yield ['to', target];
  yield ['done', doneText(status)];
  if (redisError !== undefined) return;
  yield ['jobs', `${jobs.active} active, ${formatNumber(jobs.waiting)} waiting, ${jobs.delayed} to be tried again`];
  for (const limit of limits) yield ['limit', limitText(limit)];
  yield ['workers', workers.length === 0 ? 'none was heard of in the last 15 s' : formatNumber(workers.length)];
  for (const worker of workers.slice(0, maxShown)) yield ['', workerText(worker, name, now)];
  if (workers.length > maxShown) yield ['', `and ${workers.length - maxShown} more`];
  if (failed > 0) yield ['failed', formatNumber(failed)];
  for (const { partition, reason } of failures) yield ['', `partition ${partition}: ${reason}`];
}

function limitText({ name, windows }: NamedLimit): string {
  const used = windows.map(({ used, max, per }) => `${used} of ${max} used in ${formatDuration(per)}`);
  return `${name}: ${used.join(', ')}`;
}

function workerText({ host, pid, runs }: WorkerPresence, name: string, now: number): string {
  const { working = [], rows = 0, unable } = runs.find(({ run }) => run === name) ?? {};
  const who = `${host}, process ${pid}: `;
  if (unable !== undefined) return `${who}can't work on it. ${unable}`;
  const what = working
    .slice(0, maxShown)
    .map(({ partition, since }) => `${partition} (${formatDuration(Math.max(0, now - since))})`);
  const does = what.length === 0 ? 'idle' : `partition${what.length === 1 ? '' : 's'} ${what.join(', ')}`;
  return `${who}${does}; ${formatCount(rows, 'row')} so far`;
}
