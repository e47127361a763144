import { describe, expect, test } from 'vitest';
import { startSandbox } from '../src/index.js';
import { ask, askPage, rowsOf, texts, walk } from './ask.js';

describe('a walk over the holdings', () => {
  test('gives every row of the owners once, in the promised order', { tags: ['slow'] }, async () => {
    await using sandbox = await startSandbox();
    const pages = await walk(sandbox, 'aptos', { limit: 1_000 });
    expect(rowsOf(pages)).toEqual(texts(sandbox.holdingsOf(sandbox.owners)));
    expect(pages.map(({ rows }) => rows.length)).toEqual([...Array<number>(12).fill(1_000), 345]);
    expect(pages.map(({ hasNextPage }) => hasNextPage)).toEqual([...Array<boolean>(12).fill(true), false]);
  });

  test('is the same by offset', async () => {
    await using sandbox = await startSandbox({ holdings: 250 });
    const pages = await Promise.all([0, 100, 200, 250].map((offset) => askPage(sandbox, 'aptos', { offset })));
    expect(rowsOf(pages)).toEqual(texts(sandbox.holdingsOf(sandbox.owners)));
    expect(pages.map(({ rows, hasNextPage }) => [rows.length, hasNextPage])).toEqual([
      [100, true],
      [100, true],
      [50, false],
      [0, false],
    ]);
  });

  test('takes the owners in the order in which they are given, each once', async () => {
    await using sandbox = await startSandbox({ holdings: 300 });
    const [first = '', second = '', third = ''] = sandbox.owners;
    const given = [third, first, third, '0x1'];
    const pages = await walk(sandbox, 'aptos', { owner_addresses: given });
    expect(rowsOf(pages)).toEqual(texts(sandbox.holdingsOf([third, first])));
    expect(texts(sandbox.holdingsOf(given))).toEqual(rowsOf(pages));
    expect(pages[0]?.text).not.toContain(second);
  });

  test('starts at once and ends right with 10 million holdings', async () => {
    await using sandbox = await startSandbox({ holdings: 10_000_000, owners: 1 });
    const last = await askPage(sandbox, 'aptos', { limit: 100, offset: 9_999_950 });
    expect(last).toMatchObject({ hasNextPage: false, cursor: undefined });
    expect(last.rows).toEqual(Array.from({ length: 50 }, (_, at) => JSON.stringify(sandbox.holding(9_999_950 + at))));
  });

  test('of nobody who owns anything is one empty page', async () => {
    await using sandbox = await startSandbox();
    const page = await askPage(sandbox, 'aptos', { owner_addresses: ['0x1'] });
    expect(page).toMatchObject({ rows: [], hasNextPage: false });
  });
});

describe('owners', () => {
  test('share all holdings unevenly: everybody something, the first most', async () => {
    await using sandbox = await startSandbox({ owners: 5, holdings: 10_000 });
    const sizes = sandbox.owners.map((owner) => [...sandbox.holdingsOf([owner])].length);
    expect(sizes.reduce((sum, size) => sum + size)).toBe(10_000);
    expect(Math.max(...sizes)).toBe(sizes[0]);
    expect(new Set(sizes).size).toBe(5);
    expect(Math.min(...sizes)).toBeGreaterThan(0);
  });

  test('are the same in capitals and without leading zeros', async () => {
    await using sandbox = await startSandbox({ owners: 64, holdings: 1_000 });
    const owner = sandbox.owners.find((address) => address.startsWith('0x0')) ?? '';
    const short = owner.toUpperCase().replace(/^0X0+/, '0x');
    const { rows } = await askPage(sandbox, 'aptos', { owner_addresses: [short, owner] });
    expect(rows.length).toBeGreaterThan(0);
    expect(rows).toEqual(texts(sandbox.holdingsOf([owner])));
    expect(rows).toEqual(texts(sandbox.holdingsOf([short])));
  });

  test.each([
    ['brackets', (a: string, b: string) => `owner_addresses[]=${a}&owner_addresses[]=${b}`],
    ['repeated', (a: string, b: string) => `owner_addresses=${a}&owner_addresses=${b}`],
    ['indices', (a: string, b: string) => `owner_addresses[0]=${a}&owner_addresses[1]=${b}`],
    ['encoded brackets', (a: string, b: string) => `owner_addresses%5B%5D=${a}&owner_addresses%5B%5D=${b}`],
    ['commas', (a: string, b: string) => `owner_addresses=${a},${b}`],
  ])('may be spelled with %s', async (_, spell) => {
    await using sandbox = await startSandbox({ holdings: 60 });
    const [first = '', second = ''] = sandbox.owners;
    const answer = await fetch(`${sandbox.aptosUrl}/wallets/nfts?limit=100&${spell(first, second)}`, {
      headers: { 'X-API-Key': sandbox.apiKey },
    });
    const expected = { cursor: null, result: [...sandbox.holdingsOf([first, second])], hasNextPage: false };
    expect(await answer.text()).toBe(JSON.stringify(expected));
  });
});

describe('collection filters', () => {
  test('a whitelist keeps its collections only, in short pages where they are rare', { tags: ['slow'] }, async () => {
    await using sandbox = await startSandbox({ holdings: 60_000 });
    const rows = [...sandbox.holdingsOf(sandbox.owners)];
    const hash = rarest(rows.map((row) => row.collection_data_id_hash));
    const expected = rows.filter((row) => row.collection_data_id_hash === hash);

    const pages = await walk(sandbox, 'aptos', { collection_whitelist: [`0x${hash.toUpperCase()}`] });
    expect(rowsOf(pages)).toEqual(texts(expected));
    expect(texts(sandbox.holdingsOf(sandbox.owners, { include: [hash] }))).toEqual(texts(expected));
    expect(pages.slice(0, -1).some((page) => page.rows.length < 100)).toBe(true);
  });

  test('a blacklist excludes, also what the whitelist has', { tags: ['slow'] }, async () => {
    await using sandbox = await startSandbox({ holdings: 3_000 });
    const rows = [...sandbox.holdingsOf(sandbox.owners)];
    const [one = '', two = ''] = new Set(rows.map((row) => row.collection_data_id_hash));
    const without = await walk(sandbox, 'aptos', { collection_blacklist: [one] });
    expect(rowsOf(without)).toEqual(texts(rows.filter((row) => row.collection_data_id_hash !== one)));
    const both = await walk(sandbox, 'aptos', { collection_whitelist: [one, two], collection_blacklist: [one] });
    expect(rowsOf(both)).toEqual(texts(rows.filter((row) => row.collection_data_id_hash === two)));
  });

  test('count an offset in rows that are kept', async () => {
    await using sandbox = await startSandbox({ holdings: 20_000 });
    const hash = sandbox.holding(0).collection_data_id_hash;
    const expected = texts(sandbox.holdingsOf(sandbox.owners, { include: [hash] }));
    for (const offset of [0, 1, 7, expected.length - 1, expected.length]) {
      const { rows } = await askPage(sandbox, 'aptos', { limit: 3, offset, collection_whitelist: [hash] });
      expect(rows).toEqual(expected.slice(offset, offset + 3));
    }
  });

  test('of unknown collections keep nothing', async () => {
    await using sandbox = await startSandbox();
    const page = await askPage(sandbox, 'aptos', { offset: 5, collection_whitelist: ['abc'] });
    expect(page).toMatchObject({ rows: [], hasNextPage: false });
  });
});

describe('the shape of answers', () => {
  test.each([
    [{ end: 'null' }, { cursor: null, hasNextPage: false, result: ['row'] }],
    [{ end: 'empty' }, { cursor: '', hasNextPage: false, result: ['row'] }],
    [{ end: 'absent', hasNextPage: 'absent' }, { result: ['row'] }],
    [{ oneRow: 'object' }, { cursor: null, hasNextPage: false, result: 'row' }],
  ] as const)('%j gives %j at the end', async (shape, expected) => {
    await using sandbox = await startSandbox({ holdings: 1, owners: 1, shape });
    const row = JSON.stringify(sandbox.holding(0));
    const text = await (await ask(sandbox, 'aptos')).text();
    expect(JSON.parse(text.replace(row, '"row"'))).toEqual(expected);
  });

  test.each([
    [{ noRows: 'list' }, { cursor: null, hasNextPage: false, result: [] }],
    [{ noRows: 'null' }, { cursor: null, hasNextPage: false, result: null }],
    [{ noRows: 'absent' }, { cursor: null, hasNextPage: false }],
  ] as const)('%j gives %j without rows', async (shape, expected) => {
    await using sandbox = await startSandbox({ holdings: 0, shape });
    expect(await (await ask(sandbox, 'aptos')).json()).toEqual(expected);
  });

  test('may leave the client to go on by offset', async () => {
    await using sandbox = await startSandbox({ shape: { next: 'offset' } });
    expect(await askPage(sandbox, 'aptos')).toMatchObject({ cursor: undefined, hasNextPage: true });
  });
});

function rarest(items: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(item, (counts.get(item) ?? 0) + 1);
  return [...counts].reduce((min, other) => (other[1] < min[1] ? other : min))[0];
}
