// The watcher: the changes of the status of a project's streams.
// After `npm start`: cd examples && npx tsx watchStreams.ts
import { join } from 'node:path';
import { createClient } from '@sluice/core';
import { fileState } from '@sluice/core/node';
import { startSandbox } from '@sluice/sandbox';
import { statusChanges, streams } from '@sluice/streams';
import { take } from 'rxjs';
import { temporaryFolder } from './temporaryFolder.js';

// Simulates the API, so that this runs without a key.
await using sandbox = await startSandbox({ statusEvery: 100 });
const { apiKey, streamsUrl } = sandbox;
const every = 400; // ms: 30 seconds are plenty for a real project
const state = fileState(join(temporaryFolder(), 'streams'));

await using client = createClient({ apiKey }).use(streams({ baseUrl: streamsUrl }));

const changes = client.streams.list.watch({}, { every, state }).pipe(statusChanges());

await changes.pipe(take(3)).forEach(({ before, after }) => {
  console.log(`${after.tag ?? after.id}: ${before.status ?? '?'} -> ${after.status ?? '?'}`);
});
