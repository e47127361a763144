import type { WorkEvent, WorkReport } from '@sluice/cluster';
import { sourcesOf, type Client, type Limit } from '@sluice/core';
import type { Run } from '../../config/config.js';
import type { Environment } from '../../environment/environment.js';
import { exitCodes, Interruption } from '../../errors/errors.js';
import { errorSentence } from '../../errors/formatError.js';
import type { CommandOptions } from '../../options/commands.js';
import { newsOf } from '../../progress/messages.js';
import { openClient, withClient, withKnownApis } from '../../source/openClient.js';
import { formatCount, formatNumber } from '../../terminal/format.js';
import { visibleText } from '../../terminal/text.js';
import { type OpenedCluster, targetAt, withCluster } from './withCluster.js';

const defaultRate = { requests: 5, per: 1_000 };

/** `sluice cluster work`: works on all runs of a Redis, until a signal drains it. */
export const clusterWork: Run<'cluster work'> = (options, environment, { config }) => {
  const { rate, limit = 'api', concurrency, untilDone = false, ...others } = options;
  return withCluster(options, environment, async ({ cluster, library, url }) => {
    const limiter = rate === false ? undefined : await limiterOf(rate, limit, { cluster, library, url });
    const add = withKnownApis(options, environment);
    const own = limiter ? others : { ...others, rate: false as const };
    return withClient(openClient(own, environment, config, add, limiter), environment, async (client) => {
      const reporter = new WorkReporter(options, environment);
      reporter.begin(new URL(url).host);
      const report = await cluster.work({
        sources: openersOf(client),
        untilDone,
        signal: environment.signal,
        openTarget: (address, hints) => targetAt(address, library, environment, {}, hints),
        ...(concurrency !== undefined && { concurrency }),
        ...(limiter && { limiter }),
        onEvent: (event) => reporter.tell(event),
      });
      reporter.end(report);
      return exitCodeAfter(report, environment);
    });
  });
};

/** The limiter of all workers. A limit that is there counts, unless a rate is given: then it must be the same. */
async function limiterOf(rate: Limit | undefined, name: string, { cluster, library, url }: OpenedCluster) {
  await cluster.limit(name, rate ?? []);
  return library.redisLimiter({ url, name, ...(rate ? { limits: rate } : { defaultLimits: defaultRate }) });
}

/** All sources of a client, by name. */
function openersOf(client: Client) {
  return Object.fromEntries(
    Array.from(sourcesOf(client), ([name, source]) => [
      name,
      (params: Readonly<Record<string, unknown>>) => source(params),
    ]),
  );
}

/** A worker that was told to end has done its duty. Ctrl-C stays an interruption. */
function exitCodeAfter({ failed }: WorkReport, { signal }: Pick<Environment, 'signal'>): number {
  const reason: unknown = signal.aborted ? signal.reason : undefined;
  if (reason instanceof Interruption && reason.signal !== 'SIGTERM') return reason.exitCode;
  return failed > 0 ? exitCodes.failed : exitCodes.done;
}

/** Ms between lines about what was finished. */
const tellEvery = 5_000;

/** Tells what a worker does, as lines or as JSON. */
class WorkReporter {
  readonly #options: CommandOptions<'cluster work'>;
  readonly #environment: Environment;
  readonly #counts = new Map<string, { partitions: number; rows: number }>();
  #toldAt = -Infinity;

  constructor(options: CommandOptions<'cluster work'>, environment: Environment) {
    this.#options = options;
    this.#environment = environment;
  }

  begin(host: string): void {
    if (this.#isPlain && this.#options.quiet !== true)
      this.#line(`Waiting for runs in Redis at ${host}. SIGTERM and Ctrl-C save what was fetched, and end.`);
  }

  tell(event: WorkEvent): void {
    if (!this.#isPlain) {
      this.#line(JSON.stringify(asJson(event, this.#environment.hasFlag)));
      return;
    }
    if (event.type === 'partition') this.#count(event);
    else if (this.#options.quiet !== true || event.type === 'failed' || event.type === 'unable')
      this.#line(lineOf(event, this.#environment.hasFlag));
    // Even with --quiet.
    if (event.type === 'ended') for (const sentence of newsOf(event, event.run)) this.#line(sentence);
  }

  end(report: WorkReport): void {
    if (!this.#isPlain) {
      this.#line(JSON.stringify({ type: 'report', ...report }));
      return;
    }
    if (this.#options.quiet === true) return;
    const { partitions, rows, refused, failed } = report;
    const facts = [
      `finished ${formatCount(partitions, 'partition')}`,
      `fetched ${formatCount(rows, 'row')}`,
      ...(refused > 0 ? [`${formatNumber(refused)} finished by others first`] : []),
      ...(failed > 0 ? [`${formatNumber(failed)} given up`] : []),
    ];
    this.#line(`Ended: ${facts.join(', ')}.`);
  }

  #count({ run, outcome, rows }: WorkEvent & { readonly type: 'partition' }): void {
    const counts = this.#counts.get(run) ?? { partitions: 0, rows: 0 };
    if (outcome === 'committed') counts.partitions += 1;
    counts.rows += rows;
    this.#counts.set(run, counts);
    if (this.#options.quiet === true || performance.now() - this.#toldAt < tellEvery) return;
    this.#toldAt = performance.now();
    this.#line(
      `${run}: ${formatCount(counts.partitions, 'partition')} and ${formatCount(counts.rows, 'row')} by this worker.`,
    );
  }

  get #isPlain(): boolean {
    return this.#options.progress !== 'json';
  }

  #line(text: string): void {
    this.#environment.stderr.print(`${visibleText(text)}\n`);
  }
}

function lineOf(event: Exclude<WorkEvent, { readonly type: 'partition' }>, hasFlag: (flag: string) => boolean): string {
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

/** An event for programs: errors become sentences. */
function asJson(event: WorkEvent, hasFlag: (flag: string) => boolean): object {
  return 'error' in event ? { ...event, error: errorSentence(event.error, hasFlag) } : event;
}
