// Jira: three levels, and issues by the time of their last change, against a server that responds as it does.
// After `npm start`: cd examples && npx tsx plugins/jira.test.ts
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createClient } from '@sluice/core';
import { jiraAnswers, type Jira } from '../servers/jira.js';
import { exportRounds, serve, testApi } from '../servers/testApi.js';
import { jira } from './jira.js';

const variables = { JIRA_EMAIL: 'me@example.com', JIRA_API_TOKEN: 'ATATT-of-an-example' };

/** Jira writes the zone of the user, without a colon. */
const timeOf = (nth: number): string => `2026-03-${String(nth).padStart(2, '0')}T09:30:00.000-0800`;
const issueOf = (nth: number) => ({
  key: `${nth % 2 === 0 ? 'WEB' : 'API'}-${nth}`,
  fields: { summary: `Issue ${nth}`, status: { name: 'Open' }, updated: timeOf(nth) },
});
const issues = Array.from({ length: 12 }, (_, at) => issueOf(at + 1));
const workOn = (key: string) =>
  Array.from({ length: Number(key.split('-')[1]) % 5 }, (_, at) => ({
    id: `${key}-w${at}`,
    timeSpentSeconds: 60 * at,
  }));
const ofProject = (project: string) => issues.filter(({ key }) => key.startsWith(project));

const site = (): Jira => ({
  email: variables.JIRA_EMAIL,
  apiToken: variables.JIRA_API_TOKEN,
  projects: [
    { key: 'API', name: 'Interfaces' },
    { key: 'WEB', name: 'Pages' },
  ],
  issues: [...issues],
  worklogs: new Map(issues.map(({ key }) => [key, workOn(key)])),
});

testApi({
  source: 'jira.changes',
  variables,
  answering: () => jiraAnswers(site()),
  open: (client, options) => client.use(jira(options)).jira.changes({ pageSize: 5 }),
  args: ['--page-size', '3'],
  rows: issues,
});

testApi({
  source: 'jira.worklogs',
  variables,
  answering: () => jiraAnswers(site()),
  open: (client, options) => client.use(jira(options)).jira.worklogs({ pageSize: 2 }),
  rows: [...ofProject('API'), ...ofProject('WEB')].flatMap(({ key }) =>
    workOn(key).map((row) => ({ issue: key, ...row })),
  ),
});

test('increments of Jira, merged by key, equal the table each time', async () => {
  const table = site();
  await using server = await serve(jiraAnswers(table));
  const client = createClient({ apiKey: false, variables });
  const run = exportRounds(
    client.use(jira(server.options)).jira.changes({ pageSize: 10 }),
    ({ key }) => key,
    () => table.issues.map((row) => ({ ...row })),
  );
  assert.equal(await run(), 12);
  assert.equal(await run(), 0);
  table.issues[3] = {
    key: 'WEB-4',
    fields: { ...issueOf(4).fields, summary: 'It broke', updated: new Date().toISOString() },
  };
  assert.equal(await run(), 1);
  await client.close();
});

test('an issue that was removed is skipped, and named in a warning', async () => {
  const table = site();
  const worklogs = new Map([...table.worklogs].filter(([key]) => key !== 'API-3'));
  await using server = await serve(jiraAnswers({ ...table, worklogs }));
  const client = createClient({ apiKey: false, variables });
  const warnings: string[] = [];
  client.events.subscribe((event) => event.type === 'warning' && warnings.push(event.message));
  const { jira: open } = client.use(jira(server.options));
  const rows = await open.worklogs().toArray();
  assert.deepEqual(
    new Set(rows.map(({ issue }) => issue)),
    new Set(issues.map(({ key }) => key).filter((key) => key !== 'API-3' && workOn(key).length > 0)),
  );
  assert.match(warnings.join(), /API-3.*Issue does not exist/);
  await client.close();
});
