// The suite that all sources of Sluice pass. After `npm start`: cd examples && npx tsx plugins/coins.test.ts
import { test } from 'node:test';
import { createClient } from '@sluice/core';
import { serveListing, testSource } from '@sluice/testing';
import { coins } from './coins.js';

const all = Array.from({ length: 50 }, (_, index) => ({ id: `c${index}`, name: `Coin ${index}`, price: index }));

testSource({
  test,
  factory: async () => {
    // Answers as the API does.
    const api = await serveListing(all, ({ url: { searchParams }, rows, limit }) => {
      const offset = Number(searchParams.get('offset'));
      const items = rows.slice(offset, offset + limit(searchParams.get('limit')));
      return { body: { data: { items, total: rows.length } } };
    });
    const atOnce = { rateLimit: false, retry: { retries: 0 } } as const;
    const client = createClient({ apiKey: false, ...atOnce }).use(coins({ baseUrl: api.baseUrl }));
    return {
      ...api,
      source: () => client.coins.markets({ currency: 'usd', pageSize: 20 }),
      dispose: async () => {
        await client.close();
        await api.close();
      },
    };
  },
});
