import { createServer } from 'node:http';
import { expect, test } from 'vitest';
import { someOf } from '../../../../scripts/testEffort.js';
import { onTestEnd } from '../../../../scripts/testScope.js';
import { createClient } from '../../src/index.js';
import { defineApi, listing, byPage, rateLimitHeaders } from '../../src/define/index.js';
import { fixedWindow, githubWindow, type QuotaServer } from './quotaServers.js';
import { portOf } from '../http/scriptedServer.js';

// Whether the quota is used depends on how busy the machine is, so that is tested on a simulated clock.
const servers: readonly (readonly [string, () => QuotaServer])[] = [
  ['429', () => fixedWindow({ requests: 16, per: 2_000 })],
  ['403', () => githubWindow({ requests: 16, per: 2_000 })],
];

test.each(someOf(servers))(
  'A4 over a socket, eight requests in flight exceed no window: %s',
  { tags: ['slow'] },
  async (_, server) => {
    const quota = server();
    const seen: number[] = [];
    const http = createServer((_request, response) => {
      const { status, headers } = quota.answer(Date.now());
      seen.push(status);
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end('[]');
    });
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
    onTestEnd(async () => {
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    });
    const api = defineApi({
      name: 'api',
      quota: rateLimitHeaders(),
      sources: { rows: listing({ path: '/', rows: '', columns: ['id'], paging: byPage({ param: 'page' }) }) },
    });
    await using client = createClient({ apiKey: false }).use(
      api({ baseUrl: `http://127.0.0.1:${String(portOf(http.address()))}` }),
    );
    await Promise.all(
      Array.from({ length: 8 }, async () => {
        for (let nth = 0; nth < 4; nth += 1) await client.api.get('/');
      }),
    );
    expect(seen.filter((status) => status === 200)).toHaveLength(32);
    expect(seen.length - 32).toBeLessThanOrEqual(1);
  },
);
