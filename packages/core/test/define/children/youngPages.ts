// Walks a listing, and prints by how many bytes the old generation of the heap has grown, for each page.
import { getHeapSpaceStatistics } from 'node:v8';
import { createClient } from '../../../src/index.js';
import { byCursor, defineApi, listing } from '../../../src/define/index.js';

const [baseUrl = ''] = process.argv.slice(2);
const warm = 40;

const items = listing<{ text: string }>({
  path: '/items',
  rows: 'items',
  columns: ['text'],
  paging: byCursor({ param: 'cursor', at: 'next?' }),
});
const api = defineApi({ name: 'test', sources: { items } });
const client = createClient({ apiKey: false, rateLimit: false }).use(api({ baseUrl }));
const used = (): number =>
  getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space')?.space_used_size ?? 0;
let pages = 0;
let before = 0;
for await (const page of client.test.items().pages()) {
  pages += 1;
  // What survives two of these is promoted.
  if (page.items.length > 0) globalThis.gc?.({ type: 'minor', execution: 'sync' });
  if (pages === warm) before = used();
}
console.log((used() - before) / (pages - warm));
await client.close();
