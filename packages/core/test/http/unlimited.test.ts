import Bottleneck from 'bottleneck/light.js';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createClient } from '../../src/index.js';
import { testApi } from './children/testApi.js';
import { ok, startServer } from './scriptedServer.js';

test.each([
  [false, 0],
  [[], 0],
  [{ requests: 100, per: 1_000 }, 0],
  [undefined, 0],
  [{ requests: 2, per: 100 }, 1],
] as const)(
  'L3 rateLimit: %j puts no Bottleneck in the path of requests that need not wait (%i of them)',
  async (rateLimit, count) => {
    const schedule = vi.spyOn(Bottleneck.prototype, 'schedule');
    onTestFinished(() => schedule.mockRestore());
    const server = await startServer(ok());
    const client = createClient({ apiKey: 'a-key-of-ours', ...(rateLimit !== undefined && { rateLimit }) }).use(
      testApi(server.url),
    );
    await Promise.all([1, 2, 3].map(() => client.api.request({ route: 'test.route', path: '/things', query: {} })));
    await client.close();
    expect(server.requests).toHaveLength(3);
    expect(new Set(schedule.mock.contexts).size).toBe(count);
  },
);
