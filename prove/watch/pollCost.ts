// The cost of a watch's poll beyond a plain walk of the same source, over HTTP: `node pollCost.ts ROWS PAIRS`.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient, watch } from '@sluice/core';
import { fileState } from '@sluice/core/node';
import { streams } from '../../packages/streams/src/index.js';
import { cpu, spreadOf, type Spread } from './cpu.js';
import { projections, type Projection } from './projections.js';
import { startSandboxProcess } from './sandboxProcess.js';

/** In ms of CPU. */
export interface PollCost {
  readonly projection: Projection;
  readonly walking: Spread;
  /** The cost of a poll minus that of the walk before it. */
  readonly beyond: Spread;
}

/** The first one is slower, until the code is compiled. */
const warmUp = 2;

const [rows = 0, pairs = 0] = process.argv.slice(2).map(Number);
await using server = await startSandboxProcess(rows);
const folder = await mkdtemp(join(tmpdir(), 'sluice-watch-'));
try {
  const { apiKey, streamsUrl: baseUrl } = server;
  await using client = createClient({ apiKey, rateLimit: false }).use(streams({ baseUrl }));
  const list = client.streams.list();
  const watched = Object.entries(projections).map(([name, options], nth) => ({
    projection: name as Projection,
    pages: watch(list, { every: 1, state: fileState(join(folder, String(nth))), ...options })
      .pages()
      [Symbol.asyncIterator](),
    walks: [] as number[],
    beyond: [] as number[],
  }));
  // The first poll, whose last page has its outcome.
  for (const { pages } of watched) while ((await pages.next()).value?.health === undefined);
  for (let pair = 1; pair <= pairs + warmUp; pair += 1) {
    for (const { pages, walks, beyond } of watched) {
      await server.change();
      const began = cpu();
      let seen = 0;
      for await (const page of list.pages()) seen += page.items.length;
      const walking = cpu() - began;
      // No forced garbage collection in between: the work after it, the poll, would be slower.
      const resumed = cpu();
      const { value } = await pages.next();
      const polling = cpu() - resumed;
      if (seen !== rows || value === undefined || value.items.length === 0)
        throw new Error('The server did not answer as it should.');
      if (pair <= warmUp) continue;
      walks.push(walking);
      beyond.push(polling - walking);
    }
  }
  for (const { pages } of watched) await pages.return();
  const costs = watched.map(({ projection, walks, beyond }): PollCost => ({
    projection,
    walking: spreadOf(walks),
    beyond: spreadOf(beyond),
  }));
  console.log(JSON.stringify(costs));
} finally {
  await rm(folder, { recursive: true });
}
