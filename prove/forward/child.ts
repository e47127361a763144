// Forwards the holdings of a sandbox to a receiver, once: see forward.ts.
import { join } from 'node:path';
import { aptos } from '@sluice/aptos';
import { createClient, exportTo } from '@sluice/core';
import { fileState } from '@sluice/core/node';
import { webhook } from '@sluice/exporters/webhook';
import { deadLetters, stateFolder, type ForwardOrder } from './forwardOrder.js';

const order: ForwardOrder = JSON.parse(process.argv[2] ?? '');
const { apiKey, aptosUrl, owners, hook, secret, folder, batch } = order;
await using client = createClient({ apiKey, rateLimit: false }).use(aptos({ baseUrl: aptosUrl }));
const report = await exportTo(
  client.aptos.nfts({ ownerAddresses: owners, pageSize: 50 }),
  webhook({
    url: hook,
    secret,
    allowAddresses: ['127.0.0.1'],
    deadLetter: join(folder, deadLetters),
    // A collection's holdings are delivered in order.
    key: ({ collection_id }) => String(collection_id),
    retry: { baseDelay: 5 },
    ...(batch > 1 && { batch }),
  }),
  { state: fileState(join(folder, stateFolder)), commitEvery: 7 },
).run();
console.log(JSON.stringify({ rows: report.rows, deadLetters: report.deadLetters?.count ?? 0 }));
