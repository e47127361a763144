// Two processes with one key: a limiter in Redis keeps both of them together below the rate of a strict API.
// After `npm start`, with a Redis: cd examples && SLUICE_REDIS_URL=redis://127.0.0.1:6379 npx tsx sharedLimit.ts
import { aptos } from '@sluice/aptos';
import { redisLimiter } from '@sluice/cluster';
import { createClient } from '@sluice/core';
import { startSandbox } from '@sluice/sandbox';

const limits = { requests: 20, per: 1000 };
// Simulates the API, so that this runs without a key. It refuses the 21st request of a second.
await using sandbox = await startSandbox({ holdings: 3_000, rateLimit: limits });
const url = process.env['SLUICE_REDIS_URL'] ?? 'redis://127.0.0.1:6379';

// Two clients here; two machines work in the same way.
const walk = async (): Promise<number> => {
  const limiter = redisLimiter({ url, name: `example ${sandbox.apiKey.slice(0, 4)}`, limits });
  await using client = createClient({ apiKey: sandbox.apiKey, limiter }).use(aptos({ baseUrl: sandbox.aptosUrl }));
  return (await client.aptos.nfts({ ownerAddresses: sandbox.owners }).toArray()).length;
};
const rows = await Promise.all([walk(), walk()]);
console.log(`${rows.join(' and ')} rows, ${sandbox.counts.rateLimited} requests refused`);
