// The exporter: the NFTs of some wallets, in a CSV file.
// After `npm start`: cd examples && npx tsx exportHoldings.ts
import { join } from 'node:path';
import { aptos } from '@sluice/aptos';
import { createClient, exportTo } from '@sluice/core';
import { fileState } from '@sluice/core/node';
import { csv } from '@sluice/exporters/csv';
import { startSandbox } from '@sluice/sandbox';
import { temporaryFolder } from './temporaryFolder.js';

// Simulates the API, so that this runs without a key.
await using sandbox = await startSandbox({ holdings: 5_000 });
const { apiKey, aptosUrl, owners: ownerAddresses } = sandbox;
const path = join(temporaryFolder(), 'holdings.csv');

const client = createClient({ apiKey, rateLimit: { requests: 25, per: 1000 } }).use(aptos({ baseUrl: aptosUrl }));
const holdings = client.aptos.nfts({ ownerAddresses });

const report = await exportTo(holdings, csv({ path }), { state: fileState(`${path}.sluice`) }).run();
console.log(`${report.rows} rows in ${report.target}`);

await client.close();
