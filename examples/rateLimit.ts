// Stays below the limit of a strict server. See docs/guides/rateLimit.md.
// After `npm start`: cd examples && npx tsx rateLimit.ts
import { aptos } from '@sluice/aptos';
import { createClient } from '@sluice/core';
import { startSandbox } from '@sluice/sandbox';

// Simulates the API, so that this runs without a key. It responds to the 26th request of any second with 429.
await using sandbox = await startSandbox({ holdings: 4_000, rateLimit: { requests: 25, per: 1000 } });
const { apiKey, aptosUrl: baseUrl, owners: ownerAddresses } = sandbox;

await using client = createClient({ apiKey, rateLimit: { requests: 25, per: 1000 } }).use(aptos({ baseUrl }));

client.eventsOf('attempt', 'paused').subscribe((event) => {
  if (event.type === 'attempt') console.log(`${event.route} waited ${event.waited.toFixed()} ms for the limiter`);
  if (event.type === 'paused') console.log(`the API asks for a pause of ${event.for} ms`);
});
console.log(client.limiter); // { queued, running, pausedFor }

const rows = await client.aptos.nfts({ ownerAddresses }).toArray();
console.log(`${rows.length} holdings, ${sandbox.counts.rateLimited} requests refused`);
