import { ConfigError, createClient, memoryState, type WatchOptions } from '@sluice/core';
import { startSandbox } from '@sluice/sandbox';
import { expect, onTestFinished, test } from 'vitest';
import { aptos, nftHoldingSchema, type ListNftsOptions, type NftHolding } from '../src/index.js';

type Watching = WatchOptions<NftHolding>;

async function setUp() {
  const sandbox = await startSandbox({ holdings: 90, owners: 3 });
  const client = createClient({ apiKey: sandbox.apiKey, rateLimit: false, retry: { retries: 0 } }).use(
    aptos({ baseUrl: sandbox.aptosUrl }),
  );
  onTestFinished(async () => {
    await client.close();
    await sandbox.close();
  });
  /** Takes the options of a watch among those of the listing. */
  const watch = ({ ownerAddresses, excludeCollections, includeCollections, ...others }: ListNftsOptions & Watching) => {
    const { ownersPerRequest, pageSize, ...watching } = others;
    const wallets = { ownerAddresses, excludeCollections, includeCollections, ownersPerRequest, pageSize };
    return client.aptos.nfts.watch(wallets, watching);
  };
  return { sandbox, watch };
}

test('C7 watching wallets tells every holding by owner, token and property version, each once', async () => {
  const { sandbox, watch } = await setUp();
  const watched = watch({ ownerAddresses: sandbox.owners, pageSize: 20, ownersPerRequest: 1, every: 20, polls: 3 });
  const changes = await watched.toArray();
  expect(changes.every(({ type }) => type === 'initial')).toBe(true);
  const keys = [...sandbox.holdingsOf(sandbox.owners)].map((nft) => nftHoldingSchema.key?.({ ...nft }));
  expect(changes.map(({ key }) => key)).toEqual([...new Set(keys)]);
  expect(new Set(changes.map(({ id }) => id)).size).toBe(changes.length);
  expect(watched.info).toMatchObject({ name: 'aptos.nfts.changes', isEndless: true });
});

test('C2 rows of wallets that move between pages change nothing', { tags: ['slow'] }, async () => {
  const { sandbox, watch } = await setUp();
  const watched = watch({ ownerAddresses: sandbox.owners, pageSize: 20, every: 20, polls: 6 });
  let polls = 0;
  for await (const { items, health } of watched.pages()) {
    polls += 1;
    expect(items.every(({ type }) => type === 'initial')).toBe(true);
    expect(health?.outcome).toBe('polled');
    sandbox.moveRows('aptos', 7);
  }
  expect(polls).toBe(6);
});

test('C4 wallets in another order, in other groups and on other pages are the same watch; others are not', async () => {
  const { sandbox, watch } = await setUp();
  const state = memoryState();
  const filter = ['0xab', '0xcd'];
  const other = ['0xef'];
  const asked = { ownerAddresses: sandbox.owners, excludeCollections: filter, every: 20, polls: 1, state };
  const same = {
    ownerAddresses: sandbox.owners.toReversed(),
    excludeCollections: filter.toReversed(),
    pageSize: 7,
    ownersPerRequest: 1,
  };
  expect((await watch(asked).toArray()).length).toBeGreaterThan(0);
  expect(await watch({ ...asked, ...same }).toArray()).toEqual([]);
  expect(watch({ ...asked, ...same }).info.identity).toEqual(watch(asked).info.identity);
  for (const changed of [
    { ownerAddresses: sandbox.owners.slice(1) },
    { excludeCollections: other },
    { includeCollections: other },
  ])
    await expect(watch({ ...asked, ...changed }).toArray()).rejects.toMatchObject({ code: 'checkpoint' });
});

test('C10 what always moves is left out; what no holding has, and no wallet, is refused before any request', async () => {
  const { sandbox, watch } = await setUp();
  const asked = { ownerAddresses: sandbox.owners, every: 20 };
  expect(() => watch({ ...asked, ignore: ['last_transaction_timestamp'] })).not.toThrow();
  expect(() => watch({ ...asked, project: ['amuont'] })).toThrow(ConfigError);
  expect(() => watch({ ...asked, ownerAddresses: [] })).toThrow(ConfigError);
  expect(sandbox.counts.requests).toBe(0);
});
