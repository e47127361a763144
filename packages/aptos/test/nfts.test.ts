import { ConfigError, createClient, type ClientEvent, type Limit } from '@sluice/core';
import type { ArrayFormat } from '@sluice/core/kit';
import { startSandbox, type Sandbox, type SandboxOptions } from '@sluice/sandbox';
import { describe, expect, onTestFinished, test } from 'vitest';
import { aptos, ownerAddress, type ListNftsOptions } from '../src/index.js';

async function setUp(options: SandboxOptions = {}, arrays?: ArrayFormat, rateLimit: Limit | false = false) {
  const sandbox = await startSandbox({ holdings: 1_000, ...options });
  const client = createClient({ apiKey: sandbox.apiKey, rateLimit, retry: { retries: 0 } }).use(
    aptos({ baseUrl: sandbox.aptosUrl, ...(arrays && { arrays }) }),
  );
  onTestFinished(async () => {
    await client.close();
    await sandbox.close();
  });
  return { sandbox, client, nfts: client.aptos.nfts };
}

/** The queries that the sandbox got, as they were sent. */
function queriesOf(sandbox: Sandbox): URLSearchParams[] {
  return sandbox.requests.map(({ query }) => new URLSearchParams(query));
}

const many = Array.from({ length: 45 }, (_, index) => `0x${(index + 1).toString(16).repeat(20)}`);
const hash = (digit: string): string => digit.repeat(64);

describe('the holdings of wallets', () => {
  test('are all rows of all owners, as they were sent', async () => {
    const { sandbox, nfts } = await setUp();
    const rows = await nfts({ ownerAddresses: sandbox.owners }).toArray();
    expect(rows).toEqual([...sandbox.holdingsOf(sandbox.owners)]);
  });

  const shapes: [string, NonNullable<SandboxOptions['shape']>][] = [
    ['what its reference shows', 'reference'],
    ['an empty cursor', { end: 'empty' }],
    ['no cursor', { end: 'absent', hasNextPage: 'absent' }],
    ['a single row as an object', { oneRow: 'object', end: 'absent' }],
    ['offsets and no cursors', { next: 'offset' }],
    ['offsets, and no rows at the end', { next: 'offset', end: 'absent', noRows: 'absent', oneRow: 'object' }],
  ];
  test.each(shapes)('are complete where the API answers with %s', async (_what, shape) => {
    const { sandbox, nfts } = await setUp({ shape, holdings: 301 });
    const rows = await nfts({ ownerAddresses: sandbox.owners, pageSize: 100 }).toArray();
    expect(rows).toEqual([...sandbox.holdingsOf(sandbox.owners)]);
  });

  test('are none where the owner holds nothing', async () => {
    for (const noRows of ['list', 'null', 'absent'] as const) {
      const { nfts } = await setUp({ shape: { noRows } });
      expect(await nfts({ ownerAddresses: ['0xabc'] }).toArray()).toEqual([]);
    }
  });

  test('come with pages of one row too', async () => {
    const { sandbox, nfts } = await setUp({ holdings: 20, shape: { oneRow: 'object' } });
    const rows = await nfts({ ownerAddresses: sandbox.owners, pageSize: 1 }).toArray();
    expect(rows).toEqual([...sandbox.holdingsOf(sandbox.owners)]);
    expect(sandbox.counts.requests).toBe(20);
  });

  test('come with pages of one row by offset, where each page reads the last row again', async () => {
    const { sandbox, nfts } = await setUp({ holdings: 20, shape: { oneRow: 'object', next: 'offset' } });
    const rows = await nfts({ ownerAddresses: sandbox.owners, pageSize: 1 }).toArray();
    expect(rows).toEqual([...sandbox.holdingsOf(sandbox.owners)]);
    expect(queriesOf(sandbox).map((query) => query.get('limit'))).toEqual(['1', ...Array(19).fill('2')]);
  });

  test('begin behind as many rows as offset says', async () => {
    for (const next of ['cursor', 'offset'] as const) {
      const { sandbox, nfts } = await setUp({ shape: { next } });
      const rows = await nfts({ ownerAddresses: sandbox.owners, offset: 250 }).toArray();
      expect(rows).toEqual([...sandbox.holdingsOf(sandbox.owners)].slice(250));
      expect(queriesOf(sandbox)[0]?.get('offset')).toBe('250');
    }
  });

  test('end after maxRows, with no request too many', async () => {
    const { sandbox, nfts } = await setUp();
    const rows = await nfts({ ownerAddresses: sandbox.owners, maxRows: 250 }).toArray();
    expect(rows).toEqual([...sandbox.holdingsOf(sandbox.owners)].slice(0, 250));
    expect(sandbox.counts.requests).toBe(3);
  });

  test('of a listing with more than maxPages pages are an error', async () => {
    const { sandbox, nfts } = await setUp();
    const walk = nfts({ ownerAddresses: sandbox.owners, maxPages: 3 }).toArray();
    await expect(walk).rejects.toMatchObject({ code: 'too-many-pages' });
  });
});

describe('the query of a request for holdings', () => {
  test('has the documented names and nothing else', async () => {
    const { sandbox, nfts } = await setUp();
    const [owner = ''] = sandbox.owners;
    await nfts({ ownerAddresses: [owner], pageSize: 7, maxRows: 1 }).toArray();
    expect(sandbox.requests[0]).toMatchObject({ path: expect.stringMatching(/\/wallets\/nfts$/), method: 'GET' });
    expect([...(queriesOf(sandbox)[0] ?? [])]).toEqual([
      ['limit', '7'],
      ['owner_addresses[]', owner],
    ]);
  });

  test.each([
    { wallets: 45, concurrency: 1, groups: 5 },
    { wallets: 45, concurrency: 4, requests: 16, groups: 23 },
    { wallets: 45, concurrency: 4, requests: 17, groups: 45 },
    { wallets: 45, concurrency: 4, groups: 45 },
    { wallets: 45, concurrency: 32, requests: 5, groups: 45 },
    { wallets: 1_000, concurrency: 8, requests: 25, groups: 100 },
    { wallets: 3, concurrency: 8, groups: 3 },
    { wallets: 45, concurrency: 32, given: 20, groups: 3 },
  ])(
    'P8 goes for $wallets wallets and a concurrency of $concurrency at $requests a second in $groups groups',
    async (plan) => {
      const limit = plan.requests !== undefined && { requests: plan.requests, per: 1_000 };
      const { client, nfts } = await setUp({}, undefined, limit);
      const warnings: ClientEvent[] = [];
      client.eventsOf('warning').subscribe((event) => warnings.push(event));
      const wallets = Array.from({ length: plan.wallets }, (_, nth) => `0x${(nth + 1).toString(16)}`);
      const ownerAddresses = [...wallets, '0x1'];
      const source = nfts({ ownerAddresses, ...(plan.given && { ownersPerRequest: plan.given }) });
      const { source: fitted, kept } = source.fit(plan.concurrency);
      expect(fitted.info.partitions).toBe(plan.groups);
      expect(source.fit(1, kept).source.info.identity).toEqual(fitted.info.identity);
      expect(fitted.info.rowsIdentity).toEqual(source.info.rowsIdentity);
      expect(warnings).toHaveLength(1);
    },
  );

  test('carries the filters under the names of the reference', async () => {
    const { sandbox, nfts } = await setUp();
    const [owner = ''] = sandbox.owners;
    const wanted = { includeCollections: [hash('a'), `0x${hash('b')}`], excludeCollections: [hash('C')] };
    await nfts({ ownerAddresses: [owner], ...wanted }).toArray();
    const query = queriesOf(sandbox)[0];
    expect(query?.getAll('collection_whitelist[]')).toEqual(wanted.includeCollections);
    expect(query?.getAll('collection_blacklist[]')).toEqual(wanted.excludeCollections);
  });

  test('has no filter where the list is empty', async () => {
    const { sandbox, nfts } = await setUp();
    await nfts({ ownerAddresses: ['0x1'], includeCollections: [], excludeCollections: [] }).toArray();
    expect([...(queriesOf(sandbox)[0]?.keys() ?? [])]).toEqual(['limit', 'owner_addresses[]']);
  });

  test('filters what the options say: include keeps only, exclude leaves out', async () => {
    const { sandbox, nfts } = await setUp();
    const all = [...sandbox.holdingsOf(sandbox.owners)];
    const collection = all[0]?.collection_data_id_hash ?? '';
    const base = { ownerAddresses: sandbox.owners };
    const included = await nfts({ ...base, includeCollections: [collection] }).toArray();
    const excluded = await nfts({ ...base, excludeCollections: [collection] }).toArray();
    expect(included).toEqual(all.filter((row) => row.collection_data_id_hash === collection));
    expect(excluded).toEqual(all.filter((row) => row.collection_data_id_hash !== collection));
  });

  test.each<[ArrayFormat, string]>([
    ['brackets', 'owner_addresses[]=A&owner_addresses[]=B'],
    ['repeat', 'owner_addresses=A&owner_addresses=B'],
    ['indices', 'owner_addresses[0]=A&owner_addresses[1]=B'],
    ['comma', 'owner_addresses=A,B'],
  ])('writes lists as %s: %s', async (arrays, written) => {
    const { sandbox, nfts } = await setUp({}, arrays);
    await nfts({ ownerAddresses: ['0xa', '0xb'] }).toArray();
    const expected = written.replace('A', ownerAddress('0xa')).replace('B', ownerAddress('0xb'));
    expect(decodeURIComponent(sandbox.requests[0]?.query ?? '')).toBe(`limit=100&${expected}`);
  });

  test('has up to 10 owners, in the order given', async () => {
    const { sandbox, nfts } = await setUp();
    await nfts({ ownerAddresses: many }).toArray();
    const asked = queriesOf(sandbox).map((query) => query.getAll('owner_addresses[]'));
    expect(asked.map((owners) => owners.length)).toEqual([10, 10, 10, 10, 5]);
    expect(asked.flat()).toEqual(many.map(ownerAddress));
  });

  test('stays short enough for servers, however many owners one may have', async () => {
    const { sandbox, nfts } = await setUp();
    await nfts({ ownerAddresses: many, ownersPerRequest: 1_000 }).toArray();
    const lengths = sandbox.requests.map(({ query }) => query.length);
    expect(Math.max(...lengths)).toBeLessThan(1_850);
    expect(sandbox.counts.requests).toBe(3);
  });
});

describe('before any request, the holdings', () => {
  test.each<[string, Partial<ListNftsOptions>, RegExp]>([
    ['of nobody', { ownerAddresses: [] }, /ownerAddresses is empty/],
    ['of no address', { ownerAddresses: ['0x1', 'alice'] }, /"alice" is not an account address/],
    ['in pages of 0', { pageSize: 0 }, /pageSize is 0: it must be a whole number of at least 1/],
    ['in pages of 1.5', { pageSize: 1.5 }, /pageSize is 1.5/],
    ['in pages of -1', { pageSize: -1 }, /pageSize is -1/],
    ['in pages of NaN', { pageSize: NaN }, /pageSize is NaN/],
    ['in endless pages', { pageSize: Infinity }, /pageSize is Infinity/],
    ['behind -1 rows', { offset: -1 }, /offset is -1/],
    ['behind half a row', { offset: 0.5 }, /offset is 0.5/],
    ['behind some rows of several listings', { ownerAddresses: many, offset: 1 }, /45 owners make 5.*fewer owners/],
    ['with no owner a request', { ownersPerRequest: 0 }, /ownersPerRequest is 0/],
    ['with no row', { maxRows: 0 }, /maxRows is 0/],
    ['with 1.5 rows', { maxRows: 1.5 }, /maxRows is 1.5/],
    ['with no page', { maxPages: 0 }, /maxPages is 0/],
    ['of a collection without hash', { includeCollections: [''] }, /"" in includeCollections is not a hash/],
    ['without a collection by name', { excludeCollections: ['Apes'] }, /"Apes" in excludeCollections is not a hash/],
    ['of two collections in one', { includeCollections: [`${hash('a')},${hash('b')}`] }, /is not a hash/],
  ])('%s are refused', async (_what, options, message) => {
    const { sandbox, nfts } = await setUp();
    const ask = (): unknown => nfts({ ownerAddresses: ['0x1'], ...options });
    expect(ask).toThrow(ConfigError);
    expect(ask).toThrow(message);
    expect(sandbox.counts.requests).toBe(0);
  });

  test('of an owner given twice are asked for once, with a warning', async () => {
    const { sandbox, client, nfts } = await setUp();
    const warnings: ClientEvent[] = [];
    client.events.subscribe((event) => {
      if (event.type === 'warning') warnings.push(event);
    });
    const [owner = ''] = sandbox.owners;
    const spellings = [owner, owner.toUpperCase().replace('0X', '0x'), '0x1', '0x01', owner];
    const rows = await nfts({ ownerAddresses: spellings }).toArray();
    expect(rows).toEqual([...sandbox.holdingsOf([owner])]);
    expect(queriesOf(sandbox)[0]?.getAll('owner_addresses[]')).toEqual([owner, ownerAddress('0x1')]);
    expect(warnings).toEqual([
      { type: 'warning', plugin: 'aptos', message: expect.stringMatching(/^3 of 5 owner addresses are repeated/) },
    ]);
  });

  test('warn of nothing where all owners differ, and make no request until somebody asks', async () => {
    const { sandbox, client, nfts } = await setUp();
    const events: ClientEvent[] = [];
    client.events.subscribe((event) => events.push(event));
    nfts({ ownerAddresses: many });
    expect(events).toEqual([]);
    expect(sandbox.counts.requests).toBe(0);
  });
});

test('a document of an unexpected shape is refused once, with its place and the position reached', async () => {
  const { sandbox, nfts } = await setUp({
    script: ({ nth }) =>
      nth === 3
        ? { kind: 'status', status: 200, body: '{"result":[{"owner_address":"0x1"},{"amount":[]}]}' }
        : undefined,
  });
  const walk = nfts({ ownerAddresses: sandbox.owners }).toArray();
  await expect(walk).rejects.toMatchObject({
    code: 'decode',
    message: expect.stringMatching(/^aptos\.nfts: .* at result\[1\]\.amount: it is not text/),
    position: { rows: 200, pages: 2 },
  });
  expect(sandbox.counts.requests).toBe(3);
});
