// Datadog: logs by a query, against a server that responds as it does.
// After `npm start`: cd examples && npx tsx plugins/datadog.test.ts
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createClient } from '@sluice/core';
import { datadogAnswers, type Datadog } from '../servers/datadog.js';
import { exportRounds, serve, testApi } from '../servers/testApi.js';
import { datadog } from './datadog.js';

const variables = { DD_API_KEY: 'dd-api-key-of-an-example', DD_APP_KEY: 'dd-app-key-of-an-example' };
const logOf = (nth: number, service = 'web', at = Date.UTC(2026, 4, nth)) => ({
  id: `AQ-${service}-${nth}`,
  attributes: { timestamp: new Date(at).toISOString(), service, message: `It broke ${nth} times` },
});
const rowOf = ({ id, attributes }: ReturnType<typeof logOf>) => ({ id, ...attributes });
const logs = Array.from({ length: 25 }, (_, at) => logOf(at + 1));
const org = (more: Partial<Datadog> = {}): Datadog => ({
  apiKey: variables.DD_API_KEY,
  appKey: variables.DD_APP_KEY,
  logs: [...logs.toReversed(), ...Array.from({ length: 25 }, (_, at) => logOf(at + 1, 'mail'))],
  refused: 0,
  ...more,
});

testApi({
  source: 'datadog.logs',
  variables,
  answering: () => datadogAnswers(org()),
  open: (client, options) => client.use(datadog(options)).datadog.logs({ query: 'service:web', pageSize: 10 }),
  args: ['--param', 'query=service:web', '--page-size', '5'],
  rows: logs.map(rowOf),
});

test('increments of Datadog have each log event once', async () => {
  const table = org({ logs: [...logs] });
  await using server = await serve(datadogAnswers(table));
  const client = createClient({ apiKey: false, variables });
  const source = client.use(datadog(server.options)).datadog.logs({ query: 'service:web', pageSize: 10 });
  const run = exportRounds(
    source,
    ({ id }) => id,
    () => table.logs.map(rowOf),
  );
  assert.equal(await run(), 25);
  assert.equal(await run(), 0);
  table.logs.push(logOf(26, 'web', Date.now()));
  assert.equal(await run(), 1);
  table.logs.push(logOf(27, 'web', Date.now() - 20_000)); // an agent was late
  assert.equal(await run(), 1);
  await client.close();
});

test("at most one request is beyond Datadog's quota", async () => {
  const table = org({ quota: 4 });
  await using server = await serve(datadogAnswers(table));
  const client = createClient({ apiKey: false, rateLimit: false, variables });
  const rows = await client.use(datadog(server.options)).datadog.logs({ query: 'service:web', pageSize: 5 }).toArray();
  assert.deepEqual(rows, logs.map(rowOf));
  assert.ok(table.refused <= 1, `${table.refused} refusals`);
  await client.close();
});

test('both keys are needed, and no error shows one', async () => {
  await using server = await serve(datadogAnswers(org({ appKey: 'another-key' })));
  const client = createClient({ apiKey: false, variables });
  const refused = client.use(datadog(server.options)).datadog.logs({ query: '*' }).toArray();
  await assert.rejects(refused, (error) => {
    assert.match(String(error), /403.*Forbidden/);
    assert.doesNotMatch(JSON.stringify(error), /of-an-example/);
    return true;
  });
  await client.close();
});
