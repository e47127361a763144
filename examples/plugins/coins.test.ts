// The suite that every source of Sluice passes, on this one. After `npm start`: cd examples && npx tsx plugins/coins.test.ts
import { test } from 'node:test';
import { createClient } from '@sluice/core';
import { testSource } from '@sluice/core/testing';
import { byOffsetAndTotal, startListing } from '../servers/listingServer.js';
import { coins } from './coins.js';

testSource({
  test,
  factory: async () => {
    const rows = Array.from({ length: 25 }, (_, index) => ({ id: `c${index}`, name: `Coin ${index}`, price: index }));
    const server = await startListing<unknown>(byOffsetAndTotal, rows); // answers as the API does
    const atOnce = { rateLimit: false, retry: { retries: 0 } } as const;
    const client = createClient({ apiKey: 'none', ...atOnce }).use(coins({ baseUrl: server.baseUrl }));
    return {
      source: () => client.coins.markets({ currency: 'usd', pageSize: 10 }),
      requests: () => server.counts,
      answer: (how) => (server.answer = how),
      dispose: () => client.close().then(() => server.close()),
    };
  },
});
