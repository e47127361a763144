// Slack: messages of channels, against a server that responds as it does.
// After `npm start`: cd examples && npx tsx plugins/slack.test.ts
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createClient } from '@sluice/core';
import { slackAnswers, type Slack, type SlackChannel, type SlackMessage } from '../servers/slack.js';
import { exportRounds, serve, testApi } from '../servers/testApi.js';
import { slack } from './slack.js';

const variables = { SLACK_TOKEN: 'xoxb-of-an-example' };
const messageOf = (nth: number, at = Date.UTC(2026, 6, nth) / 1000): SlackMessage => ({
  ts: `${Math.floor(at)}.${String(nth).padStart(6, '0')}`,
  user: 'U1',
  text: `Message ${nth}`,
});
const channelOf = (id: string, count: number): SlackChannel => ({
  id,
  name: id.toLowerCase(),
  is_member: true,
  messages: Array.from({ length: count }, (_, at) => messageOf(at + 1)),
});
const team = (more: readonly SlackChannel[] = []): Slack => ({
  token: variables.SLACK_TOKEN,
  channels: [channelOf('C1', 7), channelOf('C2', 0), channelOf('C3', 5), ...more],
});
/** The newest ones of each channel come first. */
const rowsOf = ({ channels }: Slack) =>
  channels
    .filter(({ is_member }) => is_member)
    .flatMap(({ id: channel, messages }) =>
      messages.toSorted((a, b) => Number(b.ts) - Number(a.ts)).map((message) => ({ channel, ...message })),
    );

testApi({
  source: 'slack.messages',
  variables,
  answering: () => slackAnswers(team()),
  open: (client, options) => client.use(slack(options)).slack.messages({ pageSize: 3 }),
  args: ['--page-size', '2'],
  rows: rowsOf(team()),
});

test('increments of Slack have the messages of each channel once', async () => {
  const table = team();
  await using server = await serve(slackAnswers(table));
  const client = createClient({ apiKey: false, variables });
  const source = client.use(slack(server.options)).slack.messages({ pageSize: 3 });
  const run = exportRounds(
    source,
    ({ channel, ts }) => `${channel} ${ts}`,
    () => rowsOf(table),
  );
  assert.equal(await run(), 12);
  assert.equal(await run(), 0);
  table.channels[0]?.messages.push(messageOf(8, Date.now() / 1000));
  table.channels[1]?.messages.push(messageOf(1, Date.now() / 1000 - 20));
  assert.equal(await run(), 2);
  await client.close();
});

test('a channel that the app has left is skipped, and named in a warning', async () => {
  const table = team([{ ...channelOf('C4', 3), is_member: false }]);
  await using server = await serve(slackAnswers(table));
  const client = createClient({ apiKey: false, variables });
  const warnings: string[] = [];
  client.events.subscribe((event) => event.type === 'warning' && warnings.push(event.message));
  assert.deepEqual(await client.use(slack(server.options)).slack.messages().toArray(), rowsOf(table));
  assert.match(warnings.join(), /C4.*not_in_channel/);
  await client.close();
});

test('errors that Slack sends with status 200 are errors, and a limit is a pause', async () => {
  const table: Slack = { ...team(), room: 2 };
  await using server = await serve(slackAnswers(table));
  const client = createClient({ apiKey: false, rateLimit: false, variables });
  assert.deepEqual(await client.use(slack(server.options)).slack.messages().toArray(), rowsOf(table));
  const stranger = createClient({ apiKey: false, variables: { SLACK_TOKEN: 'xoxb-of-somebody-else' } });
  await assert.rejects(stranger.use(slack(server.options)).slack.messages().toArray(), /invalid_auth/);
  await client.close();
  await stranger.close();
});
