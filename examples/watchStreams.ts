// The watcher: what changed between two polls of a project's streams.
// After `npm start`: cd examples && npx tsx watchStatuses.ts
import { createClient } from '@sluice/core';
import { startSandbox } from '@sluice/sandbox';
import { streams } from '@sluice/streams';
import { concatMap, exhaustMap, lastValueFrom, map, pairwise, take, tap, timer, toArray } from 'rxjs';

// Stands in for the API, so that this runs without a key.
await using sandbox = await startSandbox({ statusEvery: 100 });
const { apiKey, streamsUrl } = sandbox;
const every = 400;

await using client = createClient({ apiKey }).use(streams({ baseUrl: streamsUrl }));

const changes = timer(0, every).pipe(
  exhaustMap(() => client.streams.list().pipe(toArray())), // polls never overlap
  map((listing) => new Map(listing.map(({ id, status }) => [id, status]))),
  pairwise(),
  concatMap(([before, after]) => [...after].filter(([id, status]) => before.has(id) && before.get(id) !== status)),
);

await lastValueFrom(
  changes.pipe(
    take(3),
    tap(([id, status]) => console.log(`${id} is ${status ?? 'of unknown status'} now`)),
  ),
);
