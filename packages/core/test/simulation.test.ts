import { expect, test } from 'vitest';
import type { AttemptRequest } from '../src/http/adapter/adapter.js';
import { createClient, exportTo, memoryState } from '../src/index.js';
import { byCursor, defineApi, listing } from '../src/define/index.js';
import type { Checkpoint } from '../src/kit.js';
import { FakeClock } from './fakeClock.js';
import { recordingSink } from './rows/sink/recordingSink.js';

const api = defineApi({
  name: 'coins',
  sources: {
    prices: listing({
      path: '/prices',
      rows: 'items',
      columns: ['id'],
      paging: byCursor({ param: 'cursor', at: 'next' }),
      key: ({ id }) => String(id),
    }),
  },
});

test('an export with an adapter, a clock, ids and hashes of a simulation needs no network, and ends alike in each run', async () => {
  const runs = [await simulated(), await simulated()];
  expect(runs[0]).toEqual(runs[1]);
  expect(runs[0]?.requests).toEqual(['https://coins.example/prices', 'https://coins.example/prices?cursor=2']);
  const [first] = runs[0]?.checkpoints ?? [];
  expect(first).toMatchObject({ runId: 'id 3', planHash: expect.stringMatching(/^\d+ characters$/) });
  expect(first?.key).toEqual({ salt: 'id 2', fingerprint: '20 chara' });
});

async function simulated() {
  const requests: string[] = [];
  const checkpoints: Checkpoint[] = [];
  let ids = 0;
  const clock = new FakeClock();
  const sha256 = (text: string): Promise<string> => Promise.resolve(`${text.length} characters`);
  const send = ({ url }: AttemptRequest) => {
    requests.push(url);
    const answer = url.includes('cursor') ? { items: [{ id: 2 }], next: null } : { items: [{ id: 1 }], next: '2' };
    return Promise.resolve({ status: 200, headers: {}, text: JSON.stringify(answer) });
  };
  const adapter = () => ({ send, close: () => Promise.resolve() });
  await using client = createClient({ apiKey: 'a-key-for-tests', rateLimit: false, clock, sha256, adapter }).use(
    api({ baseUrl: 'https://coins.example' }),
  );
  const report = await exportTo(client.coins.prices(), recordingSink(), {
    state: memoryState(),
    commitEvery: 1,
    clock,
    sha256,
    newId: () => `id ${(ids += 1)}`,
    onCommitted: (checkpoint) => checkpoint && checkpoints.push(checkpoint),
  }).run();
  return { requests, checkpoints, report };
}
