// The README's lines, with their imports and a simulated API: one source, read in three ways.
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

const client = createClient({ apiKey, rateLimit: { requests: 25, per: 1000 } }).use(aptos({ baseUrl }));
const holdings = client.aptos.nfts({ ownerAddresses });
const file = csv({ path: 'holdings.csv', ifExists: 'overwrite' });
const state = fileState('holdings.csv.sluice');
const { rows } = await exportTo(holdings, file, { state }).run();
console.log(`${rows} rows`);

await holdings.pipe(take(3)).forEach(({ name }) => console.log(name));
let total = 0n;
for await (const nft of holdings) total += amountOf(nft) ?? 0n;
console.log(`${total} items`);
await client.close();
