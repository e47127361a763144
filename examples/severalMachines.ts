// One export, several workers: BullMQ gives out the work, a shared folder keeps it right.
// After `npm start`, with a Redis: cd examples && SLUICE_REDIS_URL=redis://127.0.0.1:6379 npx tsx severalMachines.ts
import { join } from 'node:path';
import { aptos, type ListNftsOptions } from '@sluice/aptos';
import { openCluster, redisLimiter, segments, sourceOfRun } from '@sluice/cluster';
import { createClient, exportTo } from '@sluice/core';
import { csv } from '@sluice/exporters/csv';
import { startSandbox } from '@sluice/sandbox';
import { temporaryFolder } from './temporaryFolder.js';

// Simulates the API, so that this runs without a key.
await using sandbox = await startSandbox({ holdings: 3_000, owners: 40 });
const url = process.env['SLUICE_REDIS_URL'] ?? 'redis://127.0.0.1:6379';
const folder = temporaryFolder();
const name = `example-${process.pid}`;

const limits = { requests: 200, per: 1000 };
const newClient = () =>
  createClient({ apiKey: sandbox.apiKey, limiter: redisLimiter({ url, name, limits }) }).use(
    aptos({ baseUrl: sandbox.aptosUrl }),
  );

// Once, on any machine. A plan is read in pieces, so it may have millions of wallets.
await using planner = newClient();
const cluster = openCluster({ url });
await cluster.submit({
  name,
  source: 'aptos.nfts',
  open: (params: ListNftsOptions) => planner.aptos.nfts(params),
  params: [{ ownerAddresses: sandbox.owners, ownersPerRequest: 2 }],
  to: segments(join(folder, 'rows')),
});

// On each machine; here, two workers in one process.
const work = async () => {
  await using client = newClient();
  return await cluster.work({
    sources: { 'aptos.nfts': (params: ListNftsOptions) => client.aptos.nfts(params) },
    untilDone: true,
  });
};
const reports = await Promise.all([work(), work()]);
console.log(`${reports.map(({ partitions }) => partitions).join(' + ')} partitions`);

// The file that one machine would have written.
const rows = await sourceOfRun(join(folder, 'rows'));
const { rows: written } = await exportTo(rows, csv({ path: join(folder, 'holdings.csv') })).run();
console.log(`${written} rows in holdings.csv`);
await cluster.clean(name, await segments(join(folder, 'rows')).open());
await cluster.close();
