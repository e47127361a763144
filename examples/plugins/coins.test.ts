// The suite that all sources of Sluice pass. After `npm start`: cd examples && npx tsx plugins/coins.test.ts
import { once } from 'node:events';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { createClient } from '@sluice/core';
import { testSource, type Answering } from '@sluice/testing';
import { coins } from './coins.js';

const rows = Array.from({ length: 25 }, (_, index) => ({ id: `c${index}`, name: `Coin ${index}`, price: index }));

testSource({
  test,
  factory: async () => {
    const seen = { made: 0, open: 0 };
    let how: Answering = 'well';
    const server = createServer((request, response) => {
      seen.made += 1;
      seen.open += 1;
      response.once('close', () => (seen.open -= 1));
      if (how === 'never') return;
      if (how === 'fail') return void response.destroy();
      // From here on it answers as the API does.
      const { searchParams } = new URL(request.url ?? '/', 'http://localhost');
      const offset = Number(searchParams.get('offset'));
      const items = rows.slice(offset, offset + Number(searchParams.get('limit')));
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ data: { items, total: rows.length } }));
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const address = server.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    const atOnce = { rateLimit: false, retry: { retries: 0 } } as const;
    const client = createClient({ apiKey: false, ...atOnce }).use(coins({ baseUrl: `http://127.0.0.1:${port}` }));
    return {
      source: () => client.coins.markets({ currency: 'usd', pageSize: 10 }),
      requests: () => seen,
      answer: (answering) => (how = answering),
      dispose: async () => {
        await client.close();
        server.closeAllConnections();
        server.close();
      },
    };
  },
});
