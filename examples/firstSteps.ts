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
const rateLimit = { requests: 25, per: 1000 };
const client = createClient({ apiKey, rateLimit }).use(aptos({ baseUrl }));
const holdings = client.aptos.nfts({ ownerAddresses });

// The holdings are an RxJS Observable,
await holdings.pipe(take(3)).forEach(({ name }) => console.log(name));
// an async iterable,
let total = 0n;
for await (const nft of holdings) total += amountOf(nft) ?? 0n;
console.log(`${total} items`);
// and a file: after a crash, the same lines complete it.
const file = csv({ path: 'holdings.csv', ifExists: 'overwrite' });
const state = fileState('holdings.csv.sluice');
await exportTo(holdings, file, { state }).run();
await client.close();
