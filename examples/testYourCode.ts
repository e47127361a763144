// Tests of code that uses Sluice, against the sandbox: real requests, no key. See docs/guides/testYourCode.md.
// After `npm start`: cd examples && npx tsx testYourCode.ts
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aptos, type AptosApi } from '@sluice/aptos';
import { createClient, SluiceError } from '@sluice/core';
import { startSandbox } from '@sluice/sandbox';

/** The code under test. It receives its client as an argument, so a test can pass another one. */
async function holdingsByOwner(client: { aptos: AptosApi }, ownerAddresses: string[]): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for await (const { owner_address: owner } of client.aptos.nfts({ ownerAddresses }))
    if (owner) counts.set(owner, (counts.get(owner) ?? 0) + 1);
  return counts;
}

test('counts what each wallet holds', async () => {
  await using sandbox = await startSandbox({ seed: 7, holdings: 500 });
  const { apiKey, aptosUrl: baseUrl, owners } = sandbox;
  await using client = createClient({ apiKey, rateLimit: false }).use(aptos({ baseUrl }));

  const counts = await holdingsByOwner(client, [...owners]);

  for (const owner of owners) assert.equal(counts.get(owner), [...sandbox.holdingsOf([owner])].length);
});

test('counts correctly although the API sometimes fails', async () => {
  await using sandbox = await startSandbox({ holdings: 500, faults: { serverError: 0.2, cutBody: 0.1, reset: 0.1 } });
  const { apiKey, aptosUrl: baseUrl, owners } = sandbox;
  const retry = { baseDelay: 1 }; // ms, so that the test does not wait
  await using client = createClient({ apiKey, rateLimit: false, retry }).use(aptos({ baseUrl }));

  const counts = await holdingsByOwner(client, [...owners]);

  assert.equal(
    [...counts.values()].reduce((sum, count) => sum + count),
    500,
  );
  assert.ok(sandbox.counts.requests > 5, 'no request was repeated: the faults did not come');
});

test('reports an error when the third page never arrives', async () => {
  await using sandbox = await startSandbox({ script: ({ nth }) => (nth === 3 ? { kind: 'html' } : undefined) });
  const { apiKey, aptosUrl: baseUrl, owners } = sandbox;
  await using client = createClient({ apiKey, retry: { retries: 0 } }).use(aptos({ baseUrl }));

  await assert.rejects(
    holdingsByOwner(client, [...owners]),
    (error) => SluiceError.is(error, 'decode') && error.position?.pages === 2,
  );
});
