// One run of an export into a table, in a process that may be killed: `node child.ts ORDER`.
import { aptos } from '@sluice/aptos';
import { createClient, exportTo } from '@sluice/core';
import { postgres } from '@sluice/tables/postgres';
import { sqlite } from '@sluice/tables/sqlite';
import type { TableOrder } from './tableOrder.js';

const order: TableOrder = JSON.parse(process.argv[2] ?? '');
const { apiKey, aptosUrl, owners, pageSize, place, table, mode, key, ...options } = order;
await using client = createClient({ apiKey, rateLimit: false, retry: { baseDelay: 5 } }).use(
  aptos({ baseUrl: aptosUrl }),
);
const holdings = client.aptos.nfts({ ownerAddresses: owners, ownersPerRequest: 1, pageSize });
const removal = mode === 'replace' && ({ maxRemoved: '100%' } as const);
const target = { table, mode, ...(key && { key }), ...removal };
const sink = place.startsWith('postgres:') ? postgres({ url: place, ...target }) : sqlite({ path: place, ...target });
await exportTo(holdings, sink, options).run();
