// Watches a large listing for some polls and says how many bytes of heap are in use after some of them.
import { createSource, watch } from '../../../../src/index.js';
import { fileState } from '../../../../src/node/index.js';
import { SkippingClock } from '../skippingClock.js';

const [folder = '', size = ''] = process.argv.slice(2);
const polls = 310;
let walks = 0;
const listing = createSource<{ readonly id: string; readonly status: string }>({
  name: 'test.large',
  identity: null,
  schema: { columns: ['id', 'status'], key: ({ id }) => id },
  fetch({ at }) {
    const from = at && 'cursor' in at ? Number(at.cursor) : 0;
    if (from === 0) walks += 1;
    const to = Math.min(from + 500, Number(size));
    // As a server's answer is read: none of it is shared with the walk before. One row in a hundred flaps.
    const rows = Array.from({ length: to - from }, (_, nth) => ({
      id: `stream ${String(from + nth)}`,
      status: (from + nth) % 100 === walks % 100 ? 'error' : 'active',
    }));
    return Promise.resolve({ rows, next: to < Number(size) ? { cursor: String(to) } : 'end' });
  },
});
const used: number[] = [];
let changes = 0;
const watched = watch(listing, { every: 1_000, clock: new SkippingClock(), polls, state: fileState(folder) });
for await (const page of watched.pages()) {
  changes += page.items.length;
  if (page.index % 10 !== 0) continue;
  globalThis.gc?.();
  used.push(process.memoryUsage().heapUsed);
}
process.stdout.write(JSON.stringify({ used, changes }));
