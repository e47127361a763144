import type { PageSource } from '@sluice/core/kit';
import { Redis } from 'ioredis';
import { onTestEnd } from '../../../../scripts/testScope.js';
import { startRedis } from '../../../../test/kit/redisServer.js';
import { openCluster, segments, type WorkEvent, type WorkOptions } from '../../src/index.js';
import type { OpenSource } from '../../src/run/run.js';
import { startHoldings, type HoldingsOptions } from '../run/holdingsRun.js';

/** A Redis, wallets to export, and workers in this process. */
export async function startCluster(options: HoldingsOptions = {}) {
  const holdings = await startHoldings(options);
  const server = await startRedis();
  onTestEnd(() => server.close());
  const cluster = openCluster({ url: server.url });
  const redis = new Redis(server.url);
  redis.on('error', () => undefined);
  onTestEnd(async () => {
    await cluster.close();
    redis.disconnect();
  });
  const { plan, open, runFolder } = holdings;
  const sources = { 'aptos.nfts': open };
  return {
    holdings,
    server,
    cluster,
    redis,
    submit: (source: OpenSource = open) => cluster.submit({ ...plan, open: source, to: segments(runFolder) }),
    /** The run, opened in its folder. */
    run: () => segments(runFolder).open(sources),
    /** Starts a worker that ends with the run. */
    work: (others: Partial<WorkOptions> = {}) => startWorker({ sources, ...others }),
  };

  function startWorker(given: WorkOptions) {
    const events: WorkEvent[] = [];
    const stop = new AbortController();
    const waiting: { readonly isMet: (event: WorkEvent) => boolean; readonly resolve: () => void }[] = [];
    const onEvent = (event: WorkEvent): void => {
      events.push(event);
      for (const { isMet, resolve } of waiting) if (isMet(event)) resolve();
    };
    const report = cluster.work({ untilDone: true, retryAfter: 1, ...given, signal: stop.signal, onEvent });
    onTestEnd(async () => {
      stop.abort();
      await report;
    });
    return {
      events,
      report,
      /** Drains it. */
      stop: () => {
        stop.abort();
        return report;
      },
      /** Resolves at the next such event. */
      next: (isMet: (event: WorkEvent) => boolean) => new Promise<void>((resolve) => waiting.push({ isMet, resolve })),
    };
  }
}

type Pages = PageSource<unknown>['pages'];

/** Sources whose second partition has other pages: of eight partitions in pieces of three, these are 1, 4 and 7. */
export function withSecondPartition(open: OpenSource, pagesOf: (pages: Pages) => Pages): OpenSource {
  return (params: never) => {
    const { info, pages } = bound(open(params));
    const others = pagesOf(pages);
    return { info, pages: (options) => (options?.partition === 1 ? others(options) : pages(options)) };
  };
}

function bound(source: PageSource<unknown>): { readonly info: PageSource<unknown>['info']; readonly pages: Pages } {
  return { info: source.info, pages: (options) => source.pages(options) };
}
