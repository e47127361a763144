// Shopify: orders by their last change, and variants of products, against a server that responds as it does.
// After `npm start`: cd examples && npx tsx plugins/shopify.test.ts
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createClient } from '@sluice/core';
import { shopifyAnswers, type Shop } from '../servers/shopify.js';
import { exportRounds, serve, testApi } from '../servers/testApi.js';
import { shopify } from './shopify.js';

const variables = { SHOPIFY_TOKEN: 'shpat_of_an_example' };

/** Shops have a time zone. */
const timeOf = (id: number): string => `2026-02-${String(id).padStart(2, '0')}T09:30:00-05:00`;
const orderOf = (id: number) => ({ id, name: `#${id}`, total_price: '9.95', updated_at: timeOf(id) });
const variantOf = (id: number) => ({
  id,
  product_id: Math.ceil(id / 4),
  sku: id % 3 === 0 ? null : `S${id}`,
  price: '5.00',
});
const orders = Array.from({ length: 25 }, (_, at) => orderOf(at + 1));
const variants = Array.from({ length: 40 }, (_, at) => variantOf(at + 1));
const products = Array.from({ length: 10 }, (_, at) => ({
  id: at + 1,
  variants: variants.filter((row) => row.product_id === at + 1),
}));

/** A shop whose orders are in no order. */
const shop = (): Shop => ({ token: variables.SHOPIFY_TOKEN, orders: orders.toReversed(), products });

testApi({
  source: 'shopify.orders',
  variables,
  answering: () => shopifyAnswers(shop()),
  open: (client, options) => client.use(shopify(options)).shopify.orders({ pageSize: 10 }),
  args: ['--page-size', '5'],
  rows: orders,
});

testApi({
  source: 'shopify.variants',
  variables,
  answering: () => shopifyAnswers(shop()),
  open: (client, options) => client.use(shopify(options)).shopify.variants({ pageSize: 4 }),
  args: ['--page-size', '2'],
  rows: variants,
});

test('increments of Shopify, merged by key, equal the table each time', async () => {
  const { token, orders: table } = shop();
  await using server = await serve(shopifyAnswers({ token, orders: table, products }));
  const client = createClient({ apiKey: false, variables });
  const run = exportRounds(
    client.use(shopify(server.options)).shopify.orders({ pageSize: 10 }),
    ({ id }) => id,
    () => table,
  );
  assert.equal(await run(), 25);
  assert.equal(await run(), 0);
  table[3] = { ...orderOf(22), total_price: '1.00', updated_at: new Date().toISOString() };
  assert.equal(await run(), 1);
  table.push({ ...orderOf(26), updated_at: new Date(Date.now() - 20_000).toISOString() });
  assert.equal(await run(), 1);
  await client.close();
});

test('a full bucket is a pause of all requests, for as long as Shopify says', async () => {
  const answering = shopifyAnswers({ ...shop(), room: 1 });
  await using server = await serve(answering);
  const client = createClient({ apiKey: false, rateLimit: false, variables });
  const began = performance.now();
  const rows = await client.use(shopify(server.options)).shopify.orders({ pageSize: 10 }).toArray();
  assert.deepEqual(rows, orders);
  assert.ok(performance.now() - began >= 200);
  assert.equal(server.sent.length, 4);
  await client.close();
});
