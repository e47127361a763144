// The README's first lines: one source, read in three ways.
// After `npm start`: cd examples && npx tsx firstSteps.ts
import { amountOf, aptos } from '@sluice/aptos';
import { createClient, exportTo } from '@sluice/core';
import { fileState } from '@sluice/core/node';
import { csv } from '@sluice/exporters/csv';
import { startSandbox } from '@sluice/sandbox';
import { take } from 'rxjs';

// Simulates the API, so that this runs without a key.
await using sandbox = await startSandbox({ holdings: 1_000, nasty: 0 });
const { apiKey, aptosUrl: baseUrl, owners: ownerAddresses } = sandbox;
const path = 'holdings.csv';
let total = 0n;

const client = createClient({ apiKey, rateLimit: { requests: 25, per: 1000 } }).use(aptos({ baseUrl }));
const holdings = client.aptos.nfts({ ownerAddresses });

await holdings.pipe(take(3)).forEach(({ name }) => console.log(name)); // an RxJS Observable
for await (const nft of holdings) total += amountOf(nft) ?? 0n; // an async iterable
const file = csv({ path, ifExists: 'overwrite' });
await exportTo(holdings, file, { state: fileState(`${path}.sluice`) }).run(); // a file; run it again to resume

console.log(`${path} has ${total} items`);
await client.close();
