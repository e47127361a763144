// @module-tag slow
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { forkChild, type Child } from '../../node/forkChild.js';
import { Random } from '../../../../../test/kit/random.js';
import { temporaryFolder } from '../../../../../test/kit/temporaryFolder.js';
import { changesIn } from './changeLines.js';
import { FoldedChanges } from './foldedChanges.js';
import type { Row } from './listing.js';
import { RestlessServer } from './restlessServer.js';

const rounds = 20;

test('C6 a process that is killed again and again writes each change once, while the server goes on', async () => {
  const random = new Random(4);
  const server = await RestlessServer.start(random);
  onTestFinished(() => server.close());
  const path = join(temporaryFolder(), 'changes.jsonl');
  const child = (...polls: string[]): Child =>
    forkChild(new URL('children/exportChanges.ts', import.meta.url), server.url, path, ...polls);
  // The next one gets ready meanwhile, since a process takes longer to begin than it is given to live.
  let next = child();
  for (let round = 0; round < rounds; round += 1) {
    const now = next;
    next = round + 1 < rounds ? child() : child('8');
    expect(await now.next()).toBe('ready');
    const served = server.more(random.int(1, 60));
    now.tell('go');
    // In the middle of a walk, or of what follows the last page of one.
    await served;
    await now.kill();
  }
  const before = changesIn(readFileSync(path, 'utf8')).length;
  expect(before).toBeGreaterThan(rounds);
  server.calm();
  expect(await next.next()).toBe('ready');
  next.tell('go');
  expect(await next.next()).toBe('done');
  const { rows } = new FoldedChanges<Row>().take(changesIn(readFileSync(path, 'utf8')));
  expect(rows).toEqual(new Map(server.listing.rows.map((each) => [each.id, each])));
});
