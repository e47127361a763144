// Salesforce: accounts by a query in SOQL, against a server that responds as it does.
// After `npm start`: cd examples && npx tsx plugins/salesforce.test.ts
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { createClient, exportTo } from '@sluice/core';
import { fileState } from '@sluice/core/node';
import { jsonl } from '@sluice/exporters/jsonl';
import { salesforceAnswers, type Salesforce } from '../servers/salesforce.js';
import { exportRounds, serve, testApi } from '../servers/testApi.js';
import { temporaryFolder } from '../temporaryFolder.js';
import { salesforce } from './salesforce.js';

const variables = { SALESFORCE_CLIENT_ID: '3MVG9-of-an-example', SALESFORCE_CLIENT_SECRET: 'secret-of-an-example' };
const timeOf = (at: number): string => new Date(at).toISOString().replace('Z', '+0000');
const accountOf = (nth: number) => ({
  Id: `001${String(nth).padStart(15, '0')}`,
  Name: `Account ${nth}`,
  IsDeleted: nth % 7 === 0,
  SystemModstamp: timeOf(Date.UTC(2026, 5, nth)),
});
const accounts = Array.from({ length: 25 }, (_, at) => accountOf(at + 1));
const org = (): Salesforce => ({
  clientId: variables.SALESFORCE_CLIENT_ID,
  clientSecret: variables.SALESFORCE_CLIENT_SECRET,
  accounts: accounts.toReversed(),
  batch: 6,
  sessions: [],
  day: 0,
});

testApi({
  source: 'salesforce.accounts',
  variables,
  answering: () => salesforceAnswers(org()),
  async open(client, options) {
    const { salesforce: api } = client.use(salesforce(options));
    await api.get('/services/data/v62.0/queryAll').catch(() => undefined); // with this, it gets its token
    return api.accounts();
  },
  rows: accounts,
});

test('increments of Salesforce, merged by key, equal the table each time, with what was removed', async () => {
  const table = org();
  await using server = await serve(salesforceAnswers(table));
  const client = createClient({ apiKey: false, variables });
  const source = client.use(salesforce(server.options)).salesforce.accounts();
  const run = exportRounds(
    source,
    ({ Id }) => Id,
    () => table.accounts,
  );
  assert.equal(await run(), 25);
  assert.equal(await run(), 0);
  table.accounts[0] = { ...accountOf(25), IsDeleted: true, SystemModstamp: timeOf(Date.now()) };
  assert.equal(await run(), 1);
  await client.close();
});

test('a query that is forgotten in the middle is made again, and its rows are replaced', async () => {
  const table = org();
  await using server = await serve(salesforceAnswers(table));
  const client = createClient({ apiKey: false, rateLimit: false, variables });
  const source = client.use(salesforce(server.options)).salesforce.accounts();
  server.instead = ({ pathname }) => {
    if (pathname.endsWith('-12')) table.day = 1;
    return undefined;
  };
  const path = join(temporaryFolder(), 'accounts.jsonl');
  const state = fileState(`${path}.sluice`);
  await exportTo(source, jsonl({ path }), { state, onExpired: 'restart-partition' }).run();
  assert.equal(readFileSync(path, 'utf8'), accounts.map((row) => `${JSON.stringify(row)}\n`).join(''));
  await client.close();
});

test('the end of its requests of 24 hours is an error in its own words', async () => {
  await using server = await serve(salesforceAnswers({ ...org(), isUsedUp: true }));
  const client = createClient({ apiKey: false, variables });
  const refused = client.use(salesforce(server.options)).salesforce.accounts().toArray();
  await assert.rejects(refused, /403.*REQUEST_LIMIT_EXCEEDED/);
  await client.close();
});
