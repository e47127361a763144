import { expect, test, vi } from 'vitest';
import { createClient } from '../../src/index.js';
import { testApi } from './children/testApi.js';
import { ok, startServer } from './scriptedServer.js';

const made = vi.hoisted(() => ({ count: 0 }));

vi.mock('bottleneck', async (importOriginal) => {
  const { default: Bottleneck } = await importOriginal<typeof import('bottleneck')>();
  return {
    default: class extends Bottleneck {
      constructor(options?: ConstructorParameters<typeof Bottleneck>[0]) {
        super(options);
        made.count += 1;
      }
    },
  };
});

test.each([
  [false, 0],
  [[], 0],
  [{ requests: 100, per: 1_000 }, 1],
  [undefined, 1],
] as const)('L3 rateLimit: %j puts no Bottleneck in the path (%i of them)', async (rateLimit, count) => {
  const server = await startServer(ok());
  made.count = 0;
  const client = createClient({ apiKey: 'key', ...(rateLimit !== undefined && { rateLimit }) }).use(
    testApi(server.url),
  );
  await Promise.all([1, 2, 3].map(() => client.api.request({ route: 'test.route', path: '/things', query: {} })));
  await client.close();
  expect(server.requests).toHaveLength(3);
  expect(made.count).toBe(count);
});
