// Zendesk: tickets and users by the time of their last change, against a server that responds as it does.
// After `npm start`: cd examples && npx tsx plugins/zendesk.test.ts
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createClient } from '@sluice/core';
import { exportRounds, serve, testApi } from '../servers/testApi.js';
import { zendeskAnswers, type Zendesk } from '../servers/zendesk.js';
import { zendesk } from './zendesk.js';

const variables = { ZENDESK_TOKEN: 'zendesk-token-of-an-example' };
const begin = Date.UTC(2026, 0, 1) / 1000;
const iso = (seconds: number): string => new Date(seconds * 1000).toISOString().replace('.000', '');

const tickets = Array.from({ length: 25 }, (_, at) => ({
  id: 25 - at,
  subject: `It breaks ${at} times`,
  status: 'open',
  generated_timestamp: begin + Math.floor(at / 2) * 3600, // two in one second
}));
const users = Array.from({ length: 25 }, (_, at) => ({
  id: at + 1,
  name: `User ${at}`,
  updated_at: iso(begin + at * 60),
}));

const desk = (more: Partial<Zendesk> = {}): Zendesk => ({
  token: variables.ZENDESK_TOKEN,
  // The system changes tickets without a new `updated_at`.
  tickets: tickets.map((row) => ({ ...row, updated_at: iso(begin - 86_400) })),
  users: [...users],
  ...more,
});
const inOrder = tickets.toSorted((a, b) => a.generated_timestamp - b.generated_timestamp || a.id - b.id);

testApi({
  source: 'zendesk.tickets',
  variables,
  answering: () => zendeskAnswers(desk()),
  open: (client, options) => client.use(zendesk(options)).zendesk.tickets({ pageSize: 9 }),
  args: ['--page-size', '5'],
  rows: inOrder,
});

testApi({
  source: 'zendesk.users',
  variables,
  answering: () => zendeskAnswers(desk()),
  open: (client, options) => client.use(zendesk(options)).zendesk.users({ pageSize: 10 }),
  args: ['--page-size', '5'],
  rows: users,
});

test('increments of Zendesk find changes of the last minutes, which it lists late, and never ask for the last one', async () => {
  const table = desk();
  await using server = await serve(zendeskAnswers(table));
  const client = createClient({ apiKey: false, variables });
  const rows = () => table.tickets.map(({ updated_at: _, ...row }) => row);
  const run = exportRounds(client.use(zendesk(server.options)).zendesk.tickets({ pageSize: 10 }), ({ id }) => id, rows);
  assert.equal(await run(), 25);
  assert.equal(await run(), 0);
  const now = Math.floor(Date.now() / 1000);
  table.tickets[3] = {
    ...table.tickets[3],
    id: 22,
    subject: 'Solved',
    status: 'solved',
    updated_at: iso(begin),
    generated_timestamp: now - 61,
  };
  assert.equal(await run(), 1);
  table.tickets.push({
    id: 26,
    subject: 'Late',
    status: 'new',
    updated_at: iso(begin),
    generated_timestamp: now - 100,
  });
  assert.equal(await run(), 1);
  assert.equal(await run(), 0);
  await client.close();
});

test('what is beyond its rate is refused for a minute, so a walk waits, or ends if it may not wait so long', async () => {
  await using server = await serve(zendeskAnswers(desk({ perMinute: 2 })));
  const client = createClient({ apiKey: false, rateLimit: false, retry: { maxRetryAfter: 1_000 }, variables });
  await assert.rejects(
    client.use(zendesk(server.options)).zendesk.users({ pageSize: 10 }).toArray(),
    /asked to wait \d\d s .* but the limit is 1 s/,
  );
  await client.close();
});
