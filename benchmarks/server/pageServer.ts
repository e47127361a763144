// Serves holdings as fast as it can, so that the client is measured: pages are built once, from rows of the sandbox,
// and each response differs from all others in the numbers written into it. Any size, in constant memory. It exits with
// its parent process.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { pageTemplates } from './pageTemplates.js';
import type { ServedPages, ServerAddress } from './servedPages.js';

const { pages, parts, latency, texts, isReady = false, large = pages }: ServedPages = JSON.parse(process.argv[2] ?? '');
const templates = await pageTemplates(texts);
const owners = Array.from({ length: parts }, (_, part) => `0x${String(part + 1).padStart(64, '0')}`);
const partOf = new Map(owners.map((owner, part) => [owner, part]));
/** Where the pages of a wallet begin among all. */
const beginOf = (part: number): number => (part === 0 ? 0 : large + (part - 1) * pages);
const bodyOf = (nth: number, page: number, all: number): Buffer =>
  templates.page(nth, page + 1 < all ? page + 1 : undefined);
const ready = isReady ? Array.from({ length: pages * parts }, (_, nth) => bodyOf(nth, nth % pages, pages)) : [];
let served = 0;

const server = createServer((request, response) => {
  const { searchParams } = new URL(request.url ?? '', 'http://localhost');
  const group = searchParams.getAll('owner_addresses[]').map((owner) => partOf.get(owner) ?? 0);
  const page = Number(searchParams.get('cursor') ?? 0);
  // The wallets of a group follow each other, and so do their numbers.
  const nth = beginOf(group[0] ?? 0) + page;
  const all = group.reduce((sum, part) => sum + (part === 0 ? large : pages), 0);
  const body = ready[nth] ?? bodyOf(nth, page, all);
  served += 1;
  const answer = (): void => {
    response.writeHead(200, { 'content-type': 'application/json; charset=utf-8', 'content-length': body.length });
    response.end(body);
  };
  if (latency === 0) answer();
  else void wait(latency).then(answer);
});
server.keepAliveTimeout = 600_000;
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const { port } = server.address() as AddressInfo;
process.send?.({ url: `http://127.0.0.1:${port}`, owners } satisfies ServerAddress);
process.on('message', () => {
  process.send?.(served);
  served = 0;
});
process.once('disconnect', () => {
  server.closeAllConnections();
  server.close();
});
