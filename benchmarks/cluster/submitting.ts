// Submits a run of so many partitions, one wallet each, and prints what that took.
//
//   node submitting.js REDIS_URL FOLDER PARTITIONS BASE_URL
import { aptos, type ListNftsOptions } from '@sluice/aptos';
import { openCluster, segments } from '@sluice/cluster';
import { createClient, type Json } from '@sluice/core';

const [url = '', folder = '', wanted = '0', baseUrl = ''] = process.argv.slice(2);
const partitions = Number(wanted);
// Nothing is requested.
const client = createClient({ apiKey: 'no-key-is-asked-for' }).use(aptos({ baseUrl }));

/** A thousand wallets a piece, made when they are needed. */
function* pieces(): Generator<Json> {
  for (let first = 0; first < partitions; first += 1_000) {
    const size = Math.min(1_000, partitions - first);
    const ownerAddresses = Array.from({ length: size }, (_, at) => `0x${(first + at + 1).toString(16)}`);
    yield { ownerAddresses, ownersPerRequest: 1 };
  }
}

const cluster = openCluster({ url });
const began = performance.now();
await cluster.submit({
  name: `of-${partitions}`,
  source: 'aptos.nfts',
  params: pieces(),
  open: (params: ListNftsOptions) => client.aptos.nfts(params),
  to: segments(folder),
});
const ms = performance.now() - began;
console.log(JSON.stringify({ ms, peakRss: process.resourceUsage().maxRSS * 1024 }));
await cluster.close();
await client.close();
