// Says how many bytes of heap a watch of so many rows keeps beyond the rows themselves, which it parses as a server's answers are.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createSource, watch } from '../../../../src/index.js';
import type { Row } from '../listing.js';
import { SkippingClock } from '../skippingClock.js';

const size = Number(process.argv[2]);
const pages = Array.from({ length: size / 500 }, (_, page) =>
  JSON.stringify(
    Array.from({ length: 500 }, (_, nth) => ({ id: `stream ${String(page * 500 + nth)}`, status: 'active' })),
  ),
);
const source = createSource<Row>({
  name: 'test.large',
  identity: null,
  schema: { columns: ['id', 'status'], key: ({ id }) => id },
  fetch({ at }) {
    const page = at && 'cursor' in at ? Number(at.cursor) : 0;
    const rows: Row[] = JSON.parse(pages[page] ?? '[]');
    return Promise.resolve({ rows, next: page + 1 < pages.length ? { cursor: String(page + 1) } : 'end' });
  },
});

// Once for nothing, so that what is kept for good is there before.
await watched();
const empty = await used();
const alone = (await listed()) - empty;
process.stdout.write(JSON.stringify(((await watched()) - empty - alone) / size));

async function listed(): Promise<number> {
  const rows: Row[] = [];
  for await (const page of source.pages()) rows.push(...page.items);
  const bytes = await used();
  if (rows.length !== size) throw new Error('The rows are not there any more.');
  return bytes;
}

/** After three polls, while it waits for the fourth to be asked for. */
async function watched(): Promise<number> {
  const polls = watch(source, { every: 1_000, clock: new SkippingClock() }).pages()[Symbol.asyncIterator]();
  for (let poll = 1; poll <= 3; poll += 1) await polls.next();
  const bytes = await used();
  await polls.return();
  return bytes;
}

async function used(): Promise<number> {
  // A walk that has ended is reachable until the turn ends.
  await nextTurn();
  globalThis.gc?.();
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}
