// A process with a dashboard: 100,000 events on demand. It reports its memory as lines of JSON, and ends when its stdin does.
import { setImmediate as tick } from 'node:timers/promises';

import { createClient, definePlugin } from '@sluice/core';
import { noAuth } from '@sluice/core/define';
import { dashboard } from '@sluice/dashboard';

const client = createClient({ apiKey: false })
  .use(dashboard({ title: 'test.many' }))
  .use(definePlugin({ name: 'api', setup: ({ endpoint }) => endpoint('http://127.0.0.1:9', { auth: noAuth }) }));
const statuses = ['active', 'paused', 'error'];
const observedAt = new Date().toISOString();
let count = 0;

async function emit(events) {
  for (let nth = 0; nth < events; nth += 1) {
    count += 1;
    const before = statuses[count % 3];
    const after = statuses[(count + 1) % 3];
    const change =
      count <= 20_000 ? { kind: 'initial', before: null, after: before } : { kind: 'changed', before, after };
    client.api.observe({ type: 'change', source: 'test.many', key: `stream ${count % 20_000}`, observedAt, ...change });
    client.api.observe({ type: 'page', source: 'test.many', partition: count, page: 1, rows: 10 });
    // Snapshots are sent meanwhile.
    if (count % 1_000 === 0) await tick();
  }
  globalThis.gc();
  return process.memoryUsage().heapUsed;
}

const url = await client.dashboard.url;
console.log(JSON.stringify({ url }));
const first = await emit(50_000);
const second = await emit(50_000);
console.log(JSON.stringify({ first, second, count }));
process.stdin.resume();
process.stdin.once('end', () => void client.close());
