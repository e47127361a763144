import type { Cluster, WorkEvent, WorkReport } from '@sluice/cluster';
import { type Limit, systemClock } from '@sluice/core';
import { sourcesOf } from '@sluice/core/define';
import type { Run } from '../../config/config.js';
import type { Environment } from '../../environment/environment.js';
import { exitCodes, Interruption, TimeUp } from '../../errors/errors.js';
import { errorSentence } from '../../options/formatError.js';
import { newsOf } from '../../export/messages.js';
import { endEarly, reportRereads } from '../../export/withRun.js';
import { openReporter, type ProgressMode, type Reporter } from '../../progress/reporter.js';
import { openClient, withClient, withKnownApis } from '../../source/openClient.js';
import { formatCount, formatNumber } from '../../terminal/format.js';
import { visibleText } from '../../terminal/text.js';
import { type OpenedCluster, targetAt, withCluster } from './withCluster.js';

const defaultRate = { requests: 5, per: 1_000 };

/** `sluice cluster work`: works on all runs of a Redis, until a signal drains it. */
export const clusterWork: Run<'cluster work'> = (options, environment, { config }) => {
  const { rate, limit = 'api', concurrency, untilDone = false, ...others } = options;
  return withCluster(options, environment, async ({ cluster, library, url }) => {
    const limiter = rate === false ? undefined : await openLimiter(rate, limit, { cluster, library, url });
    const add = withKnownApis(options, environment);
    const own = limiter ? others : { ...others, rate: false as const };
    return withClient(openClient(own, environment, config, add, limiter), environment, async (client) => {
      const { host } = new URL(url);
      const opening = `Waiting for runs in Redis at ${host}. SIGTERM and Ctrl-C save what was fetched, and end.`;
      const mode = options.quiet ? 'silent' : (options.progress ?? 'plain');
      const shown = { header: { redis: host }, opening, counts: () => ({}) };
      const reporter = openReporter(mode, shown, { output: environment.stderr, clock: systemClock });
      reportRereads(reporter, mode, environment);
      const work = cluster.work({
        sources: Object.fromEntries(sourcesOf(client)),
        untilDone,
        signal: environment.signal,
        openTarget: (address, hints) => targetAt(address, library, environment, {}, hints),
        concurrency,
        limiter,
        onEvent: followWork(reporter, mode, environment),
      });
      const report = await work.catch((error: unknown) => endEarly(error, undefined, reporter, environment));
      const reason: unknown = environment.signal.reason;
      const left = reason instanceof TimeUp ? await findLeft(cluster, reason) : undefined;
      reporter.done({ ...report, ...left }, [endLine(report), left?.message ?? []].flat().join(' '));
      if (left && mode === 'silent') environment.stderr.print(`sluice: ${visibleText(left.message)}\n`);
      return exitCodeAfter(report, left, reason);
    });
  });
};

/** The limiter of all workers. A limit that is there counts, unless a rate is given: then it must be the same. */
async function openLimiter(rate: Limit | undefined, name: string, { cluster, library, url }: OpenedCluster) {
  await cluster.limit(name, rate ?? []);
  return library.redisLimiter({ url, name, ...(rate ? { limits: rate } : { defaultLimits: defaultRate }) });
}

/** The runs that are left at the end of the time; `undefined` if there are none. */
async function findLeft(cluster: Cluster, { message }: TimeUp): Promise<Left | undefined> {
  try {
    const left = (await cluster.runs()).filter(({ state }) => state === 'active').map(({ name }) => name);
    if (left.length === 0) return undefined;
    return { message: `${message} ${formatCount(left.length, 'run is', 'runs are')} left: ${left.join(', ')}.`, left };
  } catch {
    return { message: `${message} Redis can't say which runs are left.` };
  }
}

interface Left {
  readonly message: string;
  readonly left?: readonly string[];
}

/** A worker that was told to end has done its duty. Ctrl-C stays an interruption. */
function exitCodeAfter({ failed }: WorkReport, left: Left | undefined, reason: unknown): number {
  const isDrained = reason instanceof TimeUp || (reason instanceof Interruption && reason.signal === 'SIGTERM');
  if (reason instanceof Interruption && !isDrained) return reason.exitCode;
  if (failed > 0) return exitCodes.failed;
  return left ? exitCodes.unfinished : exitCodes.done;
}

/** Ms between lines about what was finished. */
const linesEvery = 5_000;

/** Reports the events of a worker. With `--quiet`, what failed and what nobody would notice otherwise is printed still. */
function followWork(
  reporter: Reporter,
  mode: ProgressMode,
  { stderr, hasFlag }: Environment,
): (event: WorkEvent) => void {
  const counts = new Map<string, { partitions: number; rows: number }>();
  let shownAt = -Infinity;
  const countLines = ({ run, outcome, rows }: PartitionEvent): string[] => {
    const own = counts.get(run) ?? { partitions: 0, rows: 0 };
    if (outcome === 'committed') own.partitions += 1;
    own.rows += rows;
    counts.set(run, own);
    if (performance.now() - shownAt < linesEvery) return [];
    shownAt = performance.now();
    return [`${run}: ${formatCount(own.partitions, 'partition')} and ${formatCount(own.rows, 'row')} by this worker.`];
  };
  return (event) => {
    const line = event.type === 'partition' ? countLines(event) : [describeEvent(event, hasFlag)];
    const news = event.type === 'ended' ? [...newsOf(event, event.run)] : [];
    const { type, ...fields } = 'error' in event ? { ...event, error: errorSentence(event.error, hasFlag) } : event;
    reporter.report(type, fields, [...line, ...news].map(visibleText));
    const isFailure = type === 'failed' || type === 'unable';
    if (mode === 'silent') for (const text of isFailure ? line : news) stderr.print(`${visibleText(text)}\n`);
  };
}

type PartitionEvent = Extract<WorkEvent, { readonly type: 'partition' }>;

function endLine({ partitions, rows, refused, failed }: WorkReport): string {
  const facts = [
    `finished ${formatCount(partitions, 'partition')}`,
    `fetched ${formatCount(rows, 'row')}`,
    ...(refused > 0 ? [`${formatNumber(refused)} finished by others first`] : []),
    ...(failed > 0 ? [`${formatNumber(failed)} given up`] : []),
  ];
  return `Ended: ${facts.join(', ')}.`;
}

function describeEvent(event: Exclude<WorkEvent, PartitionEvent>, hasFlag: (flag: string) => boolean): string {
  switch (event.type) {
    case 'joined':
      return `${event.run}: working on it. ${formatCount(event.partitions, 'partition')}, to ${event.target}`;
    case 'unable':
      return `${event.run}: this worker can't work on it, and tries again in 30 s. ${errorSentence(event.error, hasFlag)}`;
    case 'failed': {
      const next = event.isGivenUp
        ? 'It is given up: mend the cause, and submit the run again.'
        : 'It is tried again later.';
      return `${event.run}: partition ${event.partition} failed. ${errorSentence(event.error, hasFlag)} ${next}`;
    }
    case 'ended':
      if (event.state === 'cancelled') return `${event.run}: cancelled.`;
      return event.failed === 0
        ? `${event.run}: all partitions are done.`
        : `${event.run}: ended, and ${formatCount(event.failed, 'partition')} failed.`;
    case 'redis':
      return `${errorSentence(event.error, hasFlag)} What is being fetched goes on.`;
    case 'reconnected':
      return 'Redis is back.';
  }
}
