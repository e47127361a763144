import { rename } from 'node:fs/promises';
import { aptos, type ListNftsOptions } from '@sluice/aptos';
import { createClient } from '@sluice/core';
import { nodeFileSystem, type FileSystem } from '@sluice/core/node';
import { PostgresRunTable } from '../../../../tables/src/runs/postgresRunTable.js';
import { postgresDatabase } from '../../../../tables/src/postgres/database.js';
import type { ProgressHints, RunTarget } from '../../../src/run/run.js';
import { tableTarget } from '../../../src/run/tableRun.js';
import { runPartition, segments } from '../../../src/index.js';
import { unfencedDatabase } from '../unfencedDatabase.js';
import type { FromWorker, ToWorker, WorkerOptions } from './messages.js';

/** A process that runs the partitions that its parent sends, and asks its parent for hints. */
const options = JSON.parse(process.argv[2] ?? '') as WorkerOptions;
const answers = new Map<number, (hint: unknown) => void>();
let asked = 0;

const hints: ProgressHints = {
  load: (partition) =>
    new Promise((resolve) => {
      asked += 1;
      answers.set(asked, resolve);
      tell({ type: 'load', partition, id: asked });
    }),
  save: async (partition, hint) => {
    tell({ type: 'save', partition, hint });
  },
  drop: async (partition) => {
    tell({ type: 'drop', partition });
  },
};

/** The fault that the parent has to find: the last commit of a partition counts, not the first. */
const unfenced: FileSystem = {
  ...nodeFileSystem,
  link: (from, to) => (to.includes('/done/') ? rename(from, to) : nodeFileSystem.link(from, to)),
};

function targetAt({ place, folder, isUnfenced }: WorkerOptions): RunTarget {
  if (!place) return segments(folder, { hints, ...(isUnfenced && { fileSystem: unfenced }) });
  const { database } = postgresDatabase(place, { isWorker: true });
  return tableTarget(
    new PostgresRunTable(isUnfenced ? unfencedDatabase(database) : database, place.table),
    place.url,
    {},
  );
}

const client = createClient({
  apiKey: options.apiKey,
  rateLimit: false,
  retry: { for: 60_000, baseDelay: 1, maxDelay: 20 },
}).use(aptos({ baseUrl: options.baseUrl }));
const open = (params: ListNftsOptions) => client.aptos.nfts(params);
const run = await targetAt(options).open({ 'aptos.nfts': open });
const { signal } = new AbortController();

process.on('message', (message: ToWorker) => {
  if (message.type === 'run') void work(message);
  else {
    answers.get(message.id)?.(message.hint);
    answers.delete(message.id);
  }
});
process.on('disconnect', () => process.exit());
tell({ type: 'ready' });

async function work({ partition, saveEvery }: ToWorker & { type: 'run' }): Promise<void> {
  try {
    const { outcome } = await runPartition({ run, partition, signal, saveEvery });
    tell({ type: 'outcome', partition, outcome });
  } catch (error) {
    tell({ type: 'failed', partition, message: String(error) });
  }
}

function tell(message: FromWorker): void {
  process.send?.(message);
}
