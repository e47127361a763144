// A plugin that counts what a client does, and one that labels its requests. See docs/guides/plugins.md.
// After `npm start`: cd examples && npx tsx countRequests.ts
import { aptos, type AptosApi } from '@sluice/aptos';
import { createClient, definePlugin } from '@sluice/core';
import { startSandbox } from '@sluice/sandbox';

// Simulates the API, so that this runs without a key.
await using sandbox = await startSandbox({ holdings: 2_000, faults: { serverError: 0.2 } });
const { apiKey, aptosUrl, owners } = sandbox;

const counted = () => {
  const counts = { attempts: 0, retries: 0, rows: 0 };
  return definePlugin({
    name: 'counted',
    setup: () => counts,
    hooks: {
      attempt: () => (counts.attempts += 1),
      retry: ({ route, reason, delay }) => {
        counts.retries += 1;
        console.log(`${route} failed (${reason}); retrying in ${delay} ms`);
      },
      page: ({ rows }) => (counts.rows += rows),
    },
  });
};

const labelled = definePlugin({
  name: 'labelled',
  links: [
    (next) => (request) => next({ ...request, headers: { ...request.headers, 'x-request-id': crypto.randomUUID() } }),
  ],
});

const wealth = definePlugin({
  name: 'wealth',
  requires: ['aptos'],
  setup: ({ logger }, { aptos }: { aptos: AptosApi }) => ({
    async of(owner: string) {
      const { length } = await aptos.nfts({ ownerAddresses: [owner] }).toArray();
      if (length === 0) logger.warn(`${owner} holds nothing`);
      return length;
    },
  }),
});

await using client = createClient({ apiKey })
  .use(counted())
  .use(labelled)
  .use(aptos({ baseUrl: aptosUrl }))
  .use(wealth);

for (const owner of owners) console.log(`${owner.slice(0, 10)} holds ${await client.wealth.of(owner)}`);
console.log(client.counted);
