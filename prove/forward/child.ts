// Forwards the holdings of a sandbox to a receiver, once, or the changes of its streams: see forward.ts.
import { join } from 'node:path';
import { aptos, type NftHolding } from '@sluice/aptos';
import { createClient, exportTo } from '@sluice/core';
import { fileState } from '@sluice/core/node';
import { webhook } from '@sluice/exporters/webhook';
import { streams } from '@sluice/streams';
import { deadLetters, stateFolder, type ForwardOrder } from './forwardOrder.js';

const order: ForwardOrder = JSON.parse(process.argv[2] ?? '');
const { apiKey, aptosUrl, owners, hook, secret, folder, batch, watch } = order;
await using client = createClient({ apiKey, rateLimit: false })
  .use(aptos({ baseUrl: aptosUrl }))
  .use(streams({ baseUrl: watch?.streamsUrl ?? aptosUrl }));
const state = fileState(join(folder, stateFolder));
const toReceiver = {
  url: hook,
  secret,
  allowAddresses: ['127.0.0.1'],
  deadLetter: join(folder, deadLetters),
  retry: { baseDelay: 5 },
  ...(batch > 1 && { batch }),
};
const run = watch
  ? exportTo(
      client.streams.list.watch({}, { every: 20, state, polls: watch.polls }),
      webhook({ ...toReceiver, deliveries: 2, retry: { baseDelay: 5, maxDelay: 50, for: Infinity } }),
      { state },
    )
  : exportTo(
      client.aptos.nfts({ ownerAddresses: owners, pageSize: 50 }),
      // A collection's holdings are delivered in order.
      webhook<NftHolding>({ ...toReceiver, key: ({ collection_id }) => String(collection_id) }),
      { state, commitEvery: 7 },
    );
const report = await run.run();
console.log(JSON.stringify({ rows: report.rows, deadLetters: report.deadLetters?.count ?? 0 }));
