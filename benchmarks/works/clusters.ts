import { execFile, fork } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { aptos, type ListNftsOptions } from '@sluice/aptos';
import { openCluster, segments } from '@sluice/cluster';
import { createClient } from '@sluice/core';
import { startSandbox } from '@sluice/sandbox';
import { Redis } from 'ioredis';
import type { WorkerMessage, WorkerTask } from '../../prove/cluster/messages.js';
import { bundled } from '../../scripts/bundled.js';
import { redisProgram, startRedis } from '../../test/kit/redisServer.js';
import { figureOf, type Figure } from '../figures/figure.js';
import type { Work } from './work.js';

/** More than the limiter of all workers permits at 60 ms a page. */
const limits = { requests: 1_000, per: 1_000 };
const pageLatency = 60;
const mebibyte = 2 ** 20;

/** Several workers on one run, and runs of many partitions: K11. */
export const clusters: Work = async ({ rounds, folder }) => {
  if (redisProgram === undefined) {
    console.error('Redis is not installed, so workers are not measured.');
    return [];
  }
  const [two, four]: [number[], number[]] = [[], []];
  for (let round = 0; round < Math.min(rounds, 3); round += 1) {
    const one = await rowsPerSecond(1, folder);
    two.push((await rowsPerSecond(2, folder)) / one);
    four.push((await rowsPerSecond(4, folder)) / one);
  }
  const speed = { work: `rows/s of workers at ${pageLatency} ms a page`, unit: 'x' } as const;
  return [
    figureOf({ ...speed, against: 'one worker: two of them' }, two),
    figureOf({ ...speed, against: 'one worker: four of them', goal: { atLeast: 3.6 } }, four),
    figureOf({ work: 'a partition without rows', against: '', unit: 'ms', goal: { atMost: 10 } }, [
      await msPerEmptyPartition(folder),
    ]),
    ...(await sizes(folder)),
  ];
};

/** Of a run in whose partitions all time is latency, between the first and the last one that was done. */
async function rowsPerSecond(workers: number, folder: string): Promise<number> {
  await using sandbox = await startSandbox({ holdings: 9_600, owners: 96, latency: pageLatency });
  const done = await worked(workers, { sandbox, owners: sandbox.owners, pageSize: 25, folder });
  const first = done.at(0);
  const last = done.at(-1);
  const rows = done.slice(1).reduce((sum, each) => sum + each.rows, 0);
  return (1_000 * rows) / ((last?.at ?? NaN) - (first?.at ?? NaN));
}

async function msPerEmptyPartition(folder: string): Promise<number> {
  await using sandbox = await startSandbox({ holdings: 10 });
  const owners = Array.from({ length: 600 }, (_, at) => `0x${(at + 1).toString(16)}`);
  const done = await worked(1, { sandbox, owners, pageSize: 25, folder });
  // The first ones are slower: nothing is compiled yet.
  const warm = done.slice(100);
  return ((warm.at(-1)?.at ?? NaN) - (warm.at(0)?.at ?? NaN)) / (warm.length - 1);
}

interface Wallets {
  readonly sandbox: Awaited<ReturnType<typeof startSandbox>>;
  readonly owners: readonly string[];
  readonly pageSize: number;
  readonly folder: string;
}

/** Lets workers do a run of these wallets, one a partition, and returns when each partition was done. */
async function worked(workers: number, { sandbox, owners, pageSize, folder }: Wallets) {
  const redis = await startRedis(['--appendfsync', 'everysec']);
  const client = createClient({ apiKey: sandbox.apiKey }).use(aptos({ baseUrl: sandbox.aptosUrl }));
  const cluster = openCluster({ url: redis.url });
  const to = join(folder, 'run');
  const task: WorkerTask = {
    redisUrl: redis.url,
    aptosUrl: sandbox.aptosUrl,
    apiKey: sandbox.apiKey,
    limits,
    folder: to,
    dispatch: 'bullmq',
    concurrency: 1,
    lostAfter: 30_000,
    seed: 1,
    isUnfenced: false,
  };
  const done: { readonly at: number; readonly rows: number }[] = [];
  const file = bundled(new URL('../../prove/cluster/worker.ts', import.meta.url));
  const children = Array.from({ length: workers }, () => fork(file, [JSON.stringify(task)]));
  try {
    await Promise.all(children.map((child) => once(child, 'message')));
    const finished = new Promise<void>((resolve) => {
      for (const child of children)
        child.on('message', (message: WorkerMessage) => {
          if (message.type !== 'partition') return;
          done.push({ at: performance.now(), rows: message.rows });
          if (done.length === owners.length) resolve();
        });
    });
    await cluster.submit({
      name: 'bench',
      source: 'aptos.nfts',
      to: segments(to),
      open: (params: ListNftsOptions) => client.aptos.nfts(params),
      params: [{ ownerAddresses: [...owners], ownersPerRequest: 1, pageSize }],
    });
    await finished;
    return done;
  } finally {
    for (const child of children) child.kill('SIGKILL');
    await cluster.close();
    await client.close();
    await redis.close();
    await rm(to, { recursive: true, force: true });
  }
}

/** What it takes to submit runs of many partitions, and what Redis needs while they are worked on. */
async function sizes(folder: string): Promise<Figure[]> {
  const figures: Figure[] = [];
  const used: number[] = [];
  // Part of the plan is where the API is.
  await using sandbox = await startSandbox({ script: () => ({ kind: 'never' }) });
  for (const partitions of [10_000, 1_000_000]) {
    const redis = await startRedis(['--appendfsync', 'everysec']);
    const to = join(folder, 'many');
    try {
      const script = bundled(new URL('../cluster/submitting.ts', import.meta.url));
      const { stdout } = await promisify(execFile)(process.execPath, [
        script,
        redis.url,
        to,
        String(partitions),
        sandbox.aptosUrl,
      ]);
      const { ms, peakRss } = JSON.parse(stdout) as { readonly ms: number; readonly peakRss: number };
      const many = { work: `to submit ${partitions.toLocaleString('en')} partitions`, against: '' };
      figures.push(figureOf({ ...many, unit: 'ms' }, [ms]));
      figures.push(figureOf({ ...many, work: `peak RSS ${many.work}`, unit: 'MiB' }, [peakRss / mebibyte]));
      used.push(await usedMemory(redis.url, sandbox.aptosUrl));
    } finally {
      await redis.close();
      await rm(to, { recursive: true, force: true });
    }
  }
  const [few = NaN, many = NaN] = used;
  return [
    ...figures,
    figureOf(
      {
        work: "Redis' memory for 1,000,000 partitions",
        against: '10,000 partitions',
        unit: 'x',
        goal: { atMost: 1.1 },
      },
      [many / few],
    ),
  ];
}

/** Of a Redis whose queue a worker has filled, while the API does not answer. */
async function usedMemory(url: string, aptosUrl: string): Promise<number> {
  const client = createClient({ apiKey: 'no-key-is-asked-for', rateLimit: false }).use(aptos({ baseUrl: aptosUrl }));
  const cluster = openCluster({ url });
  const redis = new Redis(url);
  const stop = new AbortController();
  const working = cluster.work({
    sources: { 'aptos.nfts': (params: ListNftsOptions) => client.aptos.nfts(params) },
    signal: stop.signal,
  });
  try {
    for (;;) {
      const [run] = await cluster.runs();
      const waiting = run === undefined ? 0 : await redis.llen(`{sluice:run}:${run.name}:wait`);
      if (waiting < 9_900) continue;
      const [, bytes = 'NaN'] = /used_memory:(\d+)/.exec(await redis.info('memory')) ?? [];
      return Number(bytes);
    }
  } finally {
    stop.abort();
    await working;
    redis.disconnect();
    await cluster.close();
    await client.close();
  }
}
