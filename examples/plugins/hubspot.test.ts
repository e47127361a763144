// HubSpot: objects of several types in windows of time, against a server that responds as it does.
// After `npm start`: cd examples && npx tsx plugins/hubspot.test.ts
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createClient } from '@sluice/core';
import { hubspotAnswers, type Hubspot, type HubspotObject } from '../servers/hubspot.js';
import { exportRounds, serve, testApi } from '../servers/testApi.js';
import { hubspot } from './hubspot.js';

const variables = { HUBSPOT_TOKEN: 'pat-of-an-example' };
const hour = 3_600_000;
// The open window is less than half over, so the walks of the suite have the same windows.
const first = (Math.floor(Date.now() / hour / 24) - 23) * 24 * hour;
const begin = new Date(first).toISOString().slice(0, 10);

const objectOf = (nth: number, at = first + nth * hour): HubspotObject => ({
  id: String(nth),
  properties: { name: `Object ${nth}`, hs_lastmodifieddate: new Date(at).toISOString() },
});
const objectsOf = (count: number, gap: number) =>
  Array.from({ length: count }, (_, at) => objectOf(at + 1, first + (at + 1) * gap));
const account = (more: Partial<Hubspot> = {}): Hubspot => ({
  token: variables.HUBSPOT_TOKEN,
  objects: { companies: objectsOf(22, 24 * hour).toReversed(), products: objectsOf(3, 100 * hour), tickets: [] },
  maxResults: 10,
  ...more,
});
const rowsOf = ({ objects }: Hubspot) =>
  Object.entries(objects).flatMap(([type, all]) =>
    all
      .map(({ id, properties }) => ({ type, id, updatedAt: properties.hs_lastmodifieddate, name: properties.name }))
      .sort((a, b) => Date.parse(a.updatedAt) - Date.parse(b.updatedAt)),
  );

testApi({
  source: 'hubspot.objects',
  options: { begin },
  variables,
  answering: () => hubspotAnswers(account()),
  open: (client, options) => client.use(hubspot({ ...options, begin })).hubspot.objects({ pageSize: 5 }),
  args: ['--page-size', '2'],
  rows: rowsOf(account()),
});

test('increments of HubSpot, merged by key, equal the table each time', async () => {
  const table = account();
  await using server = await serve(hubspotAnswers(table));
  const client = createClient({ apiKey: false, variables });
  const run = exportRounds(
    client.use(hubspot({ ...server.options, begin })).hubspot.objects({ pageSize: 5 }),
    ({ type, id }) => `${type} ${id}`,
    () => rowsOf(table),
  );
  assert.equal(await run(), 25);
  assert.equal(await run(), 0);
  table.objects['tickets']?.push(objectOf(1, Date.now()));
  table.objects['products']?.push(objectOf(4, Date.now() - 200_000)); // the search found it late
  assert.equal(await run(), 2);
  await client.close();
});

test('more than 10,000 objects are exported, although a search lists no more', async () => {
  const companies = objectsOf(20_000, hour / 40);
  const table = account({ objects: { companies, products: [], tickets: [] }, maxResults: 10_000 });
  await using server = await serve(hubspotAnswers(table));
  const client = createClient({ apiKey: false, rateLimit: false, variables });
  const { hubspot: open } = client.use(hubspot({ ...server.options, begin }));
  assert.deepEqual(await open.objects().toArray(), rowsOf(table));
  await client.close();
});
