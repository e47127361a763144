// The exporter, interrupted: an export that resumes after its last commit.
// After `npm start`: cd examples && npx tsx resumeExport.ts
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { aptos } from '@sluice/aptos';
import { createClient, exportTo, type ExportProgress } from '@sluice/core';
import { fileState } from '@sluice/core/node';
import { csv } from '@sluice/exporters/csv';
import { startSandbox } from '@sluice/sandbox';
import { temporaryFolder } from './temporaryFolder.js';

// Simulates the API, so that this runs without a key.
await using sandbox = await startSandbox({ holdings: 20_000 });
const { apiKey, aptosUrl, owners: ownerAddresses } = sandbox;
const folder = temporaryFolder();
const path = join(folder, 'holdings.csv');

await using client = createClient({ apiKey, rateLimit: false }).use(aptos({ baseUrl: aptosUrl }));
const holdings = client.aptos.nfts({ ownerAddresses });
const flow = exportTo(holdings, csv({ path }), { state: fileState(`${path}.sluice`), commitEvery: 10 });

// A crash, a power cut or Ctrl-C would have the same effect.
const stop = new AbortController();
const onProgress = ({ rows }: ExportProgress) => rows > 8_000 && stop.abort('enough for today');
await flow
  .run({ signal: stop.signal, onProgress })
  .catch((reason: unknown) => console.log(`Stopped: ${String(reason)}.`));
console.log(`Files: ${(await readdir(folder)).join(', ')}`);

const report = await flow.run();
console.log(`${report.resumedRows} rows resumed, ${report.rows} in ${(await readdir(folder)).join(', ')}`);
