import { describe, expect, test } from 'vitest';
import { nastyCollectionNames, nastyTexts } from '../src/served/nastyValues.js';
import { startSandbox } from '../src/index.js';
import { rowsOf, texts, walk } from './ask.js';
import { rowFields } from '../../../test/kit/apiReference.js';

describe('holdings', () => {
  test(
    'that are not nasty carry all fields of the reference, as text, and their properties as an object',
    { tags: ['slow'] },
    async () => {
      await using sandbox = await startSandbox({ nasty: 0, holdings: 2_000 });
      for (const row of sandbox.holdingsOf(sandbox.owners)) {
        expect(Object.keys(row).sort()).toEqual(rowFields.aptos);
        expect(row).toMatchObject({
          amount: expect.stringMatching(/^[1-9]\d*$/),
          collection_data_id_hash: expect.stringMatching(/^[0-9a-f]{64}$/),
          creator_address: expect.stringMatching(/^0x[0-9a-f]{64}$/),
          last_transaction_timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/),
          last_transaction_version: expect.stringMatching(/^\d+$/),
          name: expect.stringMatching(/^[A-Z][A-Za-z ]+ #\d+$/),
          property_version: expect.stringMatching(/^\d+$/),
          token_data_id_hash: expect.stringMatching(/^[0-9a-f]{64}$/),
        });
        expect(row.token_properties).toEqual({
          background: expect.stringMatching(/^[A-Z][a-z]+$/),
          level: expect.stringMatching(/^\d+$/),
        });
      }
    },
  );

  test('have one name per collection, a few large collections and a long tail', async () => {
    await using sandbox = await startSandbox();
    const sizes = new Map<string, number>();
    const names = new Map<string, string>();
    for (const row of sandbox.holdingsOf(sandbox.owners)) {
      sizes.set(row.collection_name, (sizes.get(row.collection_name) ?? 0) + 1);
      expect(names.get(row.collection_data_id_hash) ?? row.collection_name).toBe(row.collection_name);
      names.set(row.collection_data_id_hash, row.collection_name);
    }
    const sorted = [...sizes.values()].sort((a, b) => b - a);
    expect(sorted).toHaveLength(60 + nastyCollectionNames.length);
    expect(sorted[0]).toBeGreaterThan(40 * (sorted[59] ?? 0));
  });

  test('never repeat owner, token and property version', async () => {
    await using sandbox = await startSandbox({ holdings: 50_000 });
    const keys = Array.from(sandbox.holdingsOf(sandbox.owners), (row) =>
      [row.owner_address, row.token_data_id_hash, row.property_version].join(),
    );
    expect(new Set(keys).size).toBe(50_000);
  });

  test('bring every nasty text, and arrive as they were meant', { tags: ['slow'] }, async () => {
    await using sandbox = await startSandbox({ nasty: 1, holdings: 3_000 });
    const rows = [...sandbox.holdingsOf(sandbox.owners)];
    const names = new Set(rows.map((row) => row.name));
    expect(nastyTexts.filter((text) => !names.has(text))).toEqual([]);
    expect(names).toContain(null);
    expect(rows.some((row) => BigInt(row.amount) > 2n ** 200n)).toBe(true);
    expect(rows.some((row) => row['royalty'] !== undefined)).toBe(true);
    const ownKeys = rows.flatMap(({ token_properties: properties }) =>
      typeof properties === 'object' && properties !== null ? Object.keys(properties) : [],
    );
    expect(ownKeys).toContain('__proto__');
    expect(rowsOf(await walk(sandbox, 'aptos', { limit: 1_000 }))).toEqual(texts(rows));
  });

  test('are nasty in about the share that was asked for', { tags: ['slow'] }, async () => {
    await using clean = await startSandbox({ nasty: 0 });
    await using sandbox = await startSandbox({ nasty: 0.2 });
    const pleasant = /^[A-Z][A-Za-z ]+ #\d+$/;
    const nasty = (rows: Iterable<{ name: string | null }>): number =>
      Array.from(rows).filter((row) => !pleasant.test(row.name ?? '')).length / 12_345;
    expect(nasty(clean.holdingsOf(clean.owners))).toBe(0);
    expect(nasty(sandbox.holdingsOf(sandbox.owners))).toBeCloseTo(0.21, 1);
  });

  test('are found by index from 0 up to the last one', async () => {
    await using sandbox = await startSandbox({ holdings: 10 });
    expect(texts(sandbox.holdingsOf(sandbox.owners))).toEqual(
      Array.from({ length: 10 }, (_, index) => JSON.stringify(sandbox.holding(index))),
    );
    expect(() => sandbox.holding(10)).toThrow('There is no holding 10: the sandbox has 10, counted from 0.');
  });
});

describe('streams', () => {
  test('that are not nasty carry all fields of the reference', async () => {
    await using sandbox = await startSandbox({ nasty: 0 });
    for (const row of sandbox.streamRows()) {
      expect(Object.keys(row).sort()).toEqual(rowFields.streams.toSorted());
      expect(row).toMatchObject({
        id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$/),
        status: expect.stringMatching(/^(active|paused|error|terminated)$/),
        webhookUrl: expect.stringMatching(/^https:\/\//),
      });
      expect(row.chainIds.length).toBeGreaterThan(0);
    }
    expect(new Set(Array.from(sandbox.streamRows(), (row) => row.id)).size).toBe(42);
  });

  test('that are nasty have nulls, absent fields and unknown ones', async () => {
    await using sandbox = await startSandbox({ nasty: 1, streams: 300 });
    const rows = [...sandbox.streamRows()];
    expect(rows.some((row) => row.abi === null)).toBe(true);
    expect(rows.some((row) => !('tag' in row))).toBe(true);
    expect(rows.some((row) => 'region' in row)).toBe(true);
    expect(rowsOf(await walk(sandbox, 'streams'))).toEqual(texts(rows));
  });
});
