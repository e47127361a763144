// Stripe: charges in windows of time, against a server that responds as it does.
// After `npm start`: cd examples && npx tsx plugins/stripe.test.ts
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createClient } from '@sluice/core';
import { stripeAnswers, type Stripe } from '../servers/stripe.js';
import { exportRounds, serve, testApi } from '../servers/testApi.js';
import { stripe } from './stripe.js';

const variables = { STRIPE_KEY: 'sk_test_of_an_example' };
const day = 86_400;
const now = Math.floor(Date.now() / 1000);
// The open window is less than half over, so the walks of the suite have the same windows.
const first = (Math.floor(now / day) - 125) * day;
const begin = new Date(first * 1000).toISOString().slice(0, 10);

/** Two of them are made in one second. */
const chargeOf = (nth: number, created = first + Math.ceil(nth / 2) * 9 * day) => ({
  id: `ch_${String(nth).padStart(4, '0')}`,
  amount: nth * 100,
  currency: 'usd',
  created,
});
const charges = Array.from({ length: 26 }, (_, at) => chargeOf(at + 1));
const account = (more: Partial<Stripe> = {}): Stripe => ({
  key: variables.STRIPE_KEY,
  version: '2025-09-30.clover',
  charges: [...charges],
  ...more,
});
const windowOf = ({ created }: { readonly created: number }): number => Math.floor((created - first) / (30 * day));
/** One window after the other, and the newest charges of each first. */
const inOrder = charges.toReversed().sort((a, b) => windowOf(a) - windowOf(b));

testApi({
  source: 'stripe.charges',
  options: { begin },
  variables,
  answering: () => stripeAnswers(account()),
  open: (client, options) => client.use(stripe({ ...options, begin })).stripe.charges({ pageSize: 5 }),
  args: ['--page-size', '3'],
  rows: inOrder,
});

test('increments of Stripe have each charge once', async () => {
  const table = account();
  await using server = await serve(stripeAnswers(table));
  const client = createClient({ apiKey: false, variables });
  const run = exportRounds(
    client.use(stripe({ ...server.options, begin })).stripe.charges(),
    ({ id }) => id,
    () => table.charges,
  );
  assert.equal(await run(), 26);
  assert.equal(await run(), 0);
  table.charges.push(chargeOf(27, Math.floor(Date.now() / 1000)));
  assert.equal(await run(), 1);
  assert.equal(await run(), 0);
  await client.close();
});

test('a limit without Retry-After is a back-off, and a wrong key an error without it', async () => {
  await using server = await serve(stripeAnswers(account({ room: 3 })));
  const client = createClient({ apiKey: false, rateLimit: false, variables });
  const rows = await client
    .use(stripe({ ...server.options, begin }))
    .stripe.charges({ pageSize: 5 })
    .toArray();
  assert.deepEqual(rows, inOrder);
  const stranger = createClient({ apiKey: false, variables: { STRIPE_KEY: 'sk_test_of_somebody' } });
  const refused = stranger
    .use(stripe({ ...server.options, begin }))
    .stripe.charges()
    .toArray();
  await assert.rejects(refused, /401.*Invalid API Key provided/);
  await client.close();
  await stranger.close();
});
