// Walks through the responses of a hostile server in a process with little memory: `node child.ts SETTINGS`. It
// receives orders as messages, and reports on each.
import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import { clientOf, HostileWalks, sourceOf, type WalkReport } from './hostileWalks.js';
import { hostileKey } from './keyTraces.js';
import { outcomeOf } from './outcome.js';
import { pollution } from './pollution.js';
import { heap } from '../watch/heap.js';
import type { ChildSettings, HeapReport, Order, StormOrder, StormReport } from './order.js';

const settings: ChildSettings = JSON.parse(process.argv[2] ?? '');
const strays: string[] = [];
for (const event of ['uncaughtException', 'unhandledRejection'])
  process.on(event, (error: unknown) => strays.push(error instanceof Error ? String(error.stack) : String(error)));

const walks = new HostileWalks(settings);
const many = clientOf(settings.url, { rateLimit: { requests: 1_000, per: 1_000, concurrency: 4 } });
let peak = 0;

process.on('message', (order: Order) => {
  void reportOn(order).then((report) => process.send?.(report));
});
process.once('disconnect', () => process.exit());
process.send?.('ready');

async function reportOn(order: Order): Promise<WalkReport | StormReport | HeapReport> {
  if (order.kind === 'heap') return { used: heap(), peak, resident: process.resourceUsage().maxRSS * 1_024 };
  const report = order.kind === 'walk' ? await walks.walk(order) : await storm(order);
  // Released memory shows a little later.
  await turnOfTheLoop();
  peak = Math.max(peak, process.memoryUsage().heapUsed);
  const polluted = pollution();
  return { ...report, strays: strays.splice(0), ...(polluted !== undefined && { pollution: polluted }) };
}

async function storm({ api, walks: count }: StormOrder): Promise<Pick<StormReport, 'ends'>> {
  const ends = await Promise.all(
    Array.from({ length: count }, async () => {
      const { rows, error } = await outcomeOf(sourceOf(many, api), hostileKey);
      return error ? (error.code ?? error.stack ?? error.message) : rows.length;
    }),
  );
  return { ends };
}
