// The API's public SDK reads the sandbox: a client that was written for the live service judges its substitute.
import { ApiUtils, ApiUtilsConfig, OperationV3Resolver, PaginatedOperationResolver } from '@moralisweb3/api-utils';
import { GetNFTByOwnersOperation } from '@moralisweb3/common-aptos-utils';
import { Core } from '@moralisweb3/common-core';
import { getStreamsEvmOperation } from '@moralisweb3/common-streams-utils';
import { aptos, nftHoldingSchema } from '@sluice/aptos';
import { createClient } from '@sluice/core';
import { startSandbox, type Sandbox } from '@sluice/sandbox';
import { streams, type EvmStream } from '@sluice/streams';
import { describe, expect, test } from 'vitest';

describe.each([
  ['pleasant', 0],
  ['nasty', 1],
])('of a sandbox with %s rows, the public SDK', (_name, nasty) => {
  test('reads the streams that our library reads, page by page', async () => {
    await using sandbox = await startSandbox({ streams: 45, nasty });
    const theirs = await streamsBySdk(sandbox, 10);
    const client = createClient({ apiKey: sandbox.apiKey, rateLimit: false }).use(
      streams({ baseUrl: sandbox.streamsUrl }),
    );
    const ours = await client.streams.list({ pageSize: 10 }).toArray({ max: 100 });
    expect(theirs).toEqual(ours.map(asSdkReads));
    expect(theirs).toHaveLength(45);
    expect(sandbox.counts.byStatus).toEqual({ 200: 10 });
  });

  test('reads the holdings that our library reads, page by page', async () => {
    await using sandbox = await startSandbox({ holdings: 450, nasty });
    const theirs = await holdingsBySdk(sandbox, 100);
    const client = createClient({ apiKey: sandbox.apiKey, rateLimit: false }).use(aptos({ baseUrl: sandbox.aptosUrl }));
    const ours = await client.aptos.nfts({ ownerAddresses: sandbox.owners }).toArray({ max: 1_000 });
    // The SDK drops unknown fields.
    const known = ours.map((row) => Object.fromEntries(nftHoldingSchema.columns.map((name) => [name, row[name]])));
    expect(theirs).toEqual(known);
    expect(theirs).toHaveLength(450);
    expect(sandbox.counts.byStatus).toEqual({ 200: 10 });
  });
});

/**
 * All streams, as the SDK's own classes. Each page is requested with the cursor of the page before, because the SDK's
 * `hasNext()` compares `total` with a page size that the streams API never sends, and so is always true.
 */
async function streamsBySdk(sandbox: Sandbox, limit: number): Promise<unknown[]> {
  const resolver = new PaginatedOperationResolver(getStreamsEvmOperation, sandbox.streamsUrl, sdkCore(sandbox.apiKey));
  let page = await resolver.fetch({ limit });
  const rows = [...page.result];
  while (page.pagination.cursor) {
    page = await page.next();
    rows.push(...page.result);
  }
  return rows.map(asJson);
}

/** All holdings of all owners, as the SDK's own classes. */
async function holdingsBySdk(sandbox: Sandbox, limit: number): Promise<unknown[]> {
  const resolver = new OperationV3Resolver(GetNFTByOwnersOperation, sandbox.aptosUrl, sdkCore(sandbox.apiKey));
  const first = { limit, ownerAddresses: [...sandbox.owners] };
  let page = await resolver.resolve(first, null);
  const rows = [...page.result];
  while (page.hasNextPage) {
    page = await resolver.resolve({ ...first, cursor: page.cursor }, null);
    rows.push(...page.result);
  }
  return rows.map(asJson);
}

/**
 * The SDK's ready-made modules have a fixed address. Their components accept any: operations, resolvers and settings.
 */
function sdkCore(apiKey: string): Core {
  const core = Core.create();
  core.registerModule(ApiUtils);
  core.config.set(ApiUtilsConfig.apiKey, apiKey);
  return core;
}

/** One of our streams as the SDK reads it: without `null` in its lists, and with flags that are always present. */
function asSdkReads(stream: EvmStream): unknown {
  const { abi, advancedOptions, getNativeBalances, topic0, triggers, ...others } = stream;
  const lists = { abi, advancedOptions, getNativeBalances, topic0, triggers };
  const kept = Object.entries(lists).filter(([, list]) => list !== null);
  return { includeAllTxLogs: false, ...others, ...Object.fromEntries(kept) };
}

function asJson(row: { toJSON(): unknown }): unknown {
  return JSON.parse(JSON.stringify(row));
}
