// A worker's process. Its only argument says what it does. Its parent kills, stops and continues it.
import { rename } from 'node:fs/promises';
import { aptos, type ListNftsOptions } from '@sluice/aptos';
import { openCluster, redisLimiter, runPartition, segments, type ProgressHints, type Run } from '@sluice/cluster';
import { createClient } from '@sluice/core';
import { nodeFileSystem, type FileSystem } from '@sluice/core/node';
import { Random } from '../../test/kit/random.js';
import type { WorkerMessage, WorkerTask } from './messages.js';

const task = JSON.parse(process.argv[2] ?? '') as WorkerTask;

/** The fault that has to be found: the last commit of a partition counts, not the first. */
const unfenced: FileSystem = {
  ...nodeFileSystem,
  link: (from, to) => (to.includes('/done/') ? rename(from, to) : nodeFileSystem.link(from, to)),
};

const limiter = redisLimiter({ url: task.redisUrl, name: 'prove:cluster', limits: task.limits });
const client = createClient({
  apiKey: task.apiKey,
  limiter,
  retry: { for: 60_000, baseDelay: 10, maxDelay: 200 },
}).use(aptos({ baseUrl: task.aptosUrl }));
const sources = { 'aptos.nfts': (params: ListNftsOptions) => client.aptos.nfts(params) };

const openTarget = (folder: string, hints: ProgressHints) =>
  segments(folder, { hints, ...(task.isUnfenced && { fileSystem: unfenced }) });

function tell(message: WorkerMessage): void {
  process.send?.(message);
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function workForBullmq(): Promise<void> {
  const cluster = openCluster({ url: task.redisUrl });
  await cluster.work({
    sources,
    openTarget,
    limiter,
    concurrency: task.concurrency,
    lostAfter: task.lostAfter,
    retryAfter: 50,
    onEvent: (event) => {
      if (event.type === 'partition') tell(event);
      if (event.type === 'failed') tell({ ...event, text: textOf(event.error) });
      if (event.type === 'unable') tell({ ...event, text: textOf(event.error) });
    },
  });
}

/** Takes any partition that is not done, mostly one of the first, so that several workers have the same. */
async function workAtRandom(): Promise<void> {
  const random = new Random(task.seed);
  const hints = new Map<number, object>();
  const memory: ProgressHints = {
    load: async (partition) => hints.get(partition),
    save: async (partition, hint) => void hints.set(partition, hint),
    drop: async (partition) => void hints.delete(partition),
  };
  const run = await openTarget(task.folder, memory).open(sources);
  const { signal } = new AbortController();
  const one = async (): Promise<void> => {
    for (let first = await pendingOf(run); first.length > 0; first = await pendingOf(run)) {
      const partition = first[random.int(0, first.length - 1)] ?? 0;
      try {
        tell({
          type: 'partition',
          run: run.header.name,
          partition,
          ...(await runPartition({ run, partition, signal })),
        });
      } catch (error) {
        tell({ type: 'failed', run: run.header.name, partition, text: textOf(error) });
      }
    }
  };
  await Promise.all(Array.from({ length: task.concurrency }, one));
}

async function pendingOf(run: Run): Promise<readonly number[]> {
  const found: number[] = [];
  for await (const partition of run.pending()) {
    found.push(partition);
    if (found.length === 3) break;
  }
  return found;
}

process.on('disconnect', () => process.exit());
tell({ type: 'ready' });
await (task.dispatch === 'random' ? workAtRandom() : workForBullmq());
await client.close();
process.disconnect();
