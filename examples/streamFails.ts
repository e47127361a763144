// The watcher with notifications: a message when a stream fails. See docs/guides/streamFails.md.
// After `npm start`: cd examples && npx tsx streamFails.ts
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { createClient } from '@sluice/core';
import { fileState } from '@sluice/core/node';
import { startSandbox } from '@sluice/sandbox';
import { statusChanges, streams } from '@sluice/streams';
import { temporaryFolder } from './temporaryFolder.js';

// Simulates the API, so that this runs without a key.
await using sandbox = await startSandbox({ statusEvery: 50 });
const { apiKey, streamsUrl } = sandbox;
const every = 300; // ms: 30 seconds are plenty for a real project
const folder = join(temporaryFolder(), 'streams');
let sent = 0;

/** Simulates a mail, a chat or a pager. */
async function send(message: string): Promise<void> {
  await wait(10);
  console.log(message);
  sent += 1;
}

await using client = createClient({ apiKey }).use(streams({ baseUrl: streamsUrl }));

const changes = client.streams.list
  .watch(
    {},
    {
      every,
      state: fileState(folder),
      onHealth: ({ outcome, failures, error }) => {
        if (outcome === 'failed') console.error(`${failures ?? 1} failed polls in a row: ${String(error)}`);
      },
    },
  )
  .pipePages(statusChanges());

for await (const { after } of changes) {
  const { tag, id, statusMessage } = after;
  // The watch waits for this. After a crash, the next start emits unsent changes again.
  if (after.status === 'error') await send(`${tag ?? id} failed: ${statusMessage ?? 'no reason given'}`);
  if (sent === 2) break; // enough for an example
}
