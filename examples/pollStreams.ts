// The composer, polling: which streams fail, and what changed since the last poll. See docs/guides/composePipeline.md.
// After `npm start`: cd examples && npx tsx pollStreams.ts
import { changes, createClient, poll, type SluiceError } from '@sluice/core';
import { startSandbox } from '@sluice/sandbox';
import { streams } from '@sluice/streams';
import { distinctUntilChanged, filter, map, take } from 'rxjs';

// Simulates the API, so that this runs without a key.
await using sandbox = await startSandbox({ statusEvery: 50 });
const { apiKey, streamsUrl } = sandbox;
const every = 300; // ms: 30 seconds are plenty for a real project

await using client = createClient({ apiKey }).use(streams({ baseUrl: streamsUrl }));

// The API may be down for a while. A permanent error, such as a wrong key, ends the pipeline.
const onFailure = (error: SluiceError) => console.warn(`will try again: ${error.message}`);

const failing = poll(client.streams.list(), { every, onFailure }).pipe(
  map(({ rows }) => rows.filter(({ status }) => status === 'error').map(({ id, tag }) => tag ?? id)),
  distinctUntilChanged((before, after) => before.join() === after.join()),
);

const news = poll(client.streams.list(), { every, onFailure }).pipe(
  changes({ key: ({ id }) => id, project: ['status'] }),
  filter(({ type }) => type !== 'initial'),
);

await failing.pipe(take(2)).forEach((tags) => console.log(`in error: ${tags.join(', ') || 'none'}`));
await news.pipe(take(3)).forEach(({ type, key, fields }) => console.log(`${type} ${key} ${fields.join(', ')}`));
