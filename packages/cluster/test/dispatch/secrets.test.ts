import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { createClient } from '@sluice/core';
import { expect, test } from 'vitest';
import { onTestEnd } from '../../../../scripts/testScope.js';
import { guarded, startGuardedApi } from '../../../../test/kit/guardedApi.js';
import { redisProgram, startRedis } from '../../../../test/kit/redisServer.js';
import { temporaryFolder } from '../../../../test/kit/temporaryFolder.js';
import { openCluster, segments, type WorkEvent } from '../../src/index.js';

/** The bytes of all files below a folder. */
function contentOf(folder: string): string {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile())
    .map((path) => readFileSync(path, 'latin1'))
    .join('\n');
}

test.runIf(redisProgram !== undefined)(
  'R8 K4 no secret of an API with several is in the records of a run, in Redis, or in what a worker reports',
  { tags: ['slow'] },
  async () => {
    const { baseUrl, secrets } = await startGuardedApi();
    const server = await startRedis();
    onTestEnd(() => server.close());
    const client = createClient({ apiKey: false, retry: { baseDelay: 1 } }).use(guarded({ baseUrl }));
    const cluster = openCluster({ url: server.url });
    onTestEnd(async () => {
      await cluster.close();
      await client.close();
    });
    const folder = temporaryFolder();
    const open = { rows: () => client.guarded.rows(), refused: () => client.guarded.refused() };
    const sources = { 'guarded.rows': open.rows, 'guarded.refused': open.refused };
    for (const name of ['rows', 'refused'] as const)
      await cluster.submit({
        name,
        source: `guarded.${name}`,
        open: open[name],
        params: [{}],
        to: segments(join(folder, name)),
      });
    const events: WorkEvent[] = [];
    await cluster.work({ sources, untilDone: true, retryAfter: 1, onEvent: (event) => events.push(event) });
    const statuses = await Promise.all(
      ['rows', 'refused'].map(async (name) => cluster.status(name, await segments(join(folder, name)).open(sources))),
    );
    expect(statuses).toMatchObject([
      { done: 1, rows: 3 },
      { done: 0, failed: 1 },
    ]);
    const redis = contentOf(server.folder);
    expect(redis).toContain('[hidden]');
    const seen = [redis, contentOf(folder), inspect([events, statuses], { depth: 20 }), JSON.stringify(events)].join();
    expect(secrets().length).toBeGreaterThan(10);
    for (const secret of secrets()) expect(seen).not.toContain(secret);
  },
);
