import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { forkChild, type Child } from '../node/forkChild.js';
import { Random } from '../node/simulatedDisk/random.js';
import { tempFolder } from '../node/tempFolder.js';
import { changesIn } from './changeLines.js';
import { FoldedChanges } from './foldedChanges.js';
import { Listing, rowsOf, type Row } from './listing.js';

const rounds = 20;

test('C6 a process that is killed again and again writes each change once, while the server goes on', async () => {
  const random = new Random(4);
  const listing = new Listing(rowsOf(...'abcdefghijklmnop'), 5);
  let isQuiet = false;
  let pages = 0;
  let served = (): void => undefined;
  const until = async (count: number): Promise<void> => {
    while (pages < count) await new Promise<void>((resolve) => (served = resolve));
  };
  const url = await serve(listing, () => {
    pages += 1;
    served();
    if (isQuiet) return;
    const id = [...'abcdefghijklmnop'][random.between(0, 15)]!;
    if (random.chance(0.5)) listing.set(id, random.chance(0.5) ? 'active' : 'error');
    else if (random.chance(0.5)) listing.remove(id);
    else if (!listing.rows.some((each) => each.id === id)) listing.add(id);
  });
  const path = join(tempFolder(), 'changes.jsonl');
  const child = (...polls: string[]): Child =>
    forkChild(new URL('children/exportChanges.ts', import.meta.url), url, path, ...polls);
  // The next one gets ready meanwhile, since a process takes longer to begin than it is given to live.
  let next = child();
  for (let round = 0; round < rounds; round += 1) {
    const now = next;
    next = round + 1 < rounds ? child() : child('8');
    expect(await now.next()).toBe('ready');
    now.tell('go');
    // In the middle of a walk, or of what follows the last page of one.
    await until(pages + random.between(1, 60));
    await now.kill();
  }
  const before = changesIn(readFileSync(path, 'utf8')).length;
  expect(before).toBeGreaterThan(rounds);
  isQuiet = true;
  expect(await next.next()).toBe('ready');
  next.tell('go');
  expect(await next.next()).toBe('done');
  const { rows } = new FoldedChanges<Row>().take(changesIn(readFileSync(path, 'utf8')));
  expect(rows).toEqual(new Map(listing.rows.map((each) => [each.id, each])));
}, 60_000);

/** A server of pages, each cut out of what the listing is at that moment. */
async function serve(listing: Listing, onPage: () => void): Promise<string> {
  const server = createServer((request, response) => {
    onPage();
    const from = Number(new URL(request.url ?? '', 'http://localhost').searchParams.get('from'));
    const to = from + listing.pageSize;
    response.end(
      JSON.stringify({
        rows: listing.rows.slice(from, to),
        next: to < listing.rows.length ? { cursor: String(to) } : 'end',
      }),
    );
  }).listen(0, '127.0.0.1');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, 'listening');
  return `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
}
