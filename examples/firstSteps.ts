// The README's first lines: one source, read in three ways.
// After `npm start`: cd examples && npx tsx firstSteps.ts
import { join } from 'node:path';
import { amountOf, aptos } from '@sluice/aptos';
import { createClient, exportTo } from '@sluice/core';
import { fileState } from '@sluice/core/node';
import { csv } from '@sluice/exporters/csv';
import { startSandbox } from '@sluice/sandbox';
import { take } from 'rxjs';
import { temporaryFolder } from './temporaryFolder.js';

// Simulates the API, so that this runs without a key.
await using sandbox = await startSandbox({ holdings: 1_000 });
const { apiKey, aptosUrl: baseUrl, owners: ownerAddresses } = sandbox;
const path = join(temporaryFolder(), 'holdings.csv');
let total = 0n;

const client = createClient({ apiKey, rateLimit: { requests: 25, per: 1000 } }).use(aptos({ baseUrl }));
const holdings = client.aptos.nfts({ ownerAddresses });

await holdings.pipe(take(3)).forEach(({ name }) => console.log(name)); // an RxJS Observable
for await (const nft of holdings) total += amountOf(nft) ?? 0n; // an async iterable
await exportTo(holdings, csv({ path }), { state: fileState(`${path}.sluice`) }).run(); // a file; run it again to resume

console.log(`${total} items in ${path}`);
await client.close();
