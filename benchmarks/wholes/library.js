// The library as its README shows it, which can be resumed after a crash. usage: library.js ADDRESS OWNER KEY FILE
import { aptos } from '@sluice/aptos';
import { createClient, exportTo } from '@sluice/core';
import { fileState } from '@sluice/core/node';
import { csv } from '@sluice/exporters/csv';

const [baseUrl, owner, apiKey, path] = process.argv.slice(2);
const client = createClient({ apiKey, rateLimit: false }).use(aptos({ baseUrl }));
const holdings = client.aptos.nfts({ ownerAddresses: [owner] });
await exportTo(holdings, csv({ path }), { state: fileState(`${path}.sluice`) }).run();
await client.close();
