import { describe, expect, test } from 'vitest';
import { startSandbox } from '../src/index.js';
import { ask, askPage } from './ask.js';

describe('a request', () => {
  test.each([
    ['without a key', {}],
    ['with an empty key', { 'X-API-Key': '' }],
    ['with a wrong key', { 'X-API-Key': 'sandbox-key' }],
  ])('%s gets 401', async (_, headers) => {
    await using sandbox = await startSandbox();
    for (const endpoint of ['streams', 'aptos'] as const) {
      const answer = await ask(sandbox, endpoint, {}, { headers });
      expect(answer.status).toBe(401);
      expect(await answer.json()).toEqual({ message: 'X-API-Key: missing or not known' });
    }
  });

  test.each([
    ['streams', { limit: '' }, 'limit: must be a whole number from 1 to 100'],
    ['streams', { limit: 0 }, 'limit: must be a whole number from 1 to 100'],
    ['streams', { limit: 101 }, 'limit: must be a whole number from 1 to 100'],
    ['streams', { limit: '1.5' }, 'limit: must be a whole number from 1 to 100'],
    ['streams', { limit: '1e1' }, 'limit: must be a whole number from 1 to 100'],
    ['streams', { cursor: 'abc' }, 'cursor: unknown; it was not issued by this service'],
    ['aptos', { limit: 1_001 }, 'limit: must be a whole number from 1 to 1000'],
    ['aptos', { offset: -1 }, 'offset: must be a whole number from 0 to 999999999999999'],
    ['aptos', { offset: 'x' }, 'offset: must be a whole number from 0 to 999999999999999'],
    ['aptos', { owner_addresses: [] }, 'owner_addresses: at least one is required'],
    ['aptos', { owner_addresses: '' }, 'owner_addresses: at least one is required'],
    ['aptos', { owner_addresses: ['1'] }, 'owner_addresses: each must be 0x and 1 to 64 hexadecimal digits'],
    [
      'aptos',
      { owner_addresses: [`0x${'1'.repeat(65)}`] },
      'owner_addresses: each must be 0x and 1 to 64 hexadecimal digits',
    ],
    [
      'aptos',
      { collection_whitelist: ['xyz'] },
      'collection_whitelist: each must be a hash of up to 64 hexadecimal digits',
    ],
    [
      'aptos',
      { collection_blacklist: ['0x'] },
      'collection_blacklist: each must be a hash of up to 64 hexadecimal digits',
    ],
  ] as const)('to %s with %j gets 400', async (endpoint, parameters, message) => {
    await using sandbox = await startSandbox();
    const answer = await ask(sandbox, endpoint, parameters);
    expect(answer.status).toBe(400);
    expect(await answer.json()).toEqual({ message });
  });

  test('without a limit gets 400', async () => {
    await using sandbox = await startSandbox();
    const answer = await fetch(`${sandbox.streamsUrl}/streams/evm`, { headers: { 'X-API-Key': sandbox.apiKey } });
    expect(answer.status).toBe(400);
    expect(await answer.json()).toEqual({ message: 'limit: is required, a whole number from 1 to 100' });
  });

  test('to an unknown path gets 404, with another method 405', async () => {
    await using sandbox = await startSandbox();
    const lost = await fetch(`${sandbox.streamsUrl}/streams/solana?limit=1`);
    expect(lost.status).toBe(404);
    expect(await lost.json()).toEqual({ message: 'Nothing is found at /streams-api/streams/solana' });
    const posted = await ask(sandbox, 'streams', {}, { method: 'POST', body: '{}' });
    expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET']);
  });
});

describe('a cursor', () => {
  test('of another query, another endpoint or another seed gets 400', async () => {
    await using sandbox = await startSandbox();
    await using other = await startSandbox({ seed: 2 });
    const [owner = ''] = sandbox.owners;
    const { cursor = '' } = await askPage(sandbox, 'aptos');
    const { cursor: foreign = '' } = await askPage(other, 'streams', { limit: 10 });
    const refused = [
      await ask(sandbox, 'aptos', { cursor, owner_addresses: [owner] }),
      await ask(sandbox, 'aptos', { cursor, collection_whitelist: ['abc'] }),
      await ask(sandbox, 'streams', { cursor }),
      await ask(sandbox, 'streams', { cursor: foreign }),
      await ask(sandbox, 'aptos', { cursor: `${cursor}x` }),
    ];
    expect(refused.map(({ status }) => status)).toEqual([400, 400, 400, 400, 400]);
    expect(await refused[0]?.json()).toEqual({
      message: 'cursor: it was issued for another query; send the same parameters, or start over without it',
    });
  });

  test('is good for another page size, and wins over an offset', async () => {
    await using sandbox = await startSandbox();
    const { cursor = '' } = await askPage(sandbox, 'aptos', { limit: 10 });
    const { rows } = await askPage(sandbox, 'aptos', { limit: 2, cursor, offset: 500 });
    expect(rows).toEqual([10, 11].map((index) => JSON.stringify(sandbox.holding(index))));
  });

  test('expires after cursorTtl', async () => {
    let now = 5_000;
    await using sandbox = await startSandbox({ cursorTtl: 1_000, now: () => now });
    const { cursor = '' } = await askPage(sandbox, 'aptos');
    now += 1_000;
    expect((await ask(sandbox, 'aptos', { cursor })).status).toBe(200);
    now += 1;
    const refused = await ask(sandbox, 'aptos', { cursor });
    expect(refused.status).toBe(400);
    expect(await refused.json()).toEqual({ message: 'cursor: expired; start over without it' });
  });

  test('can be used cursorUses times', async () => {
    await using sandbox = await startSandbox({ cursorUses: 2 });
    const { cursor = '' } = await askPage(sandbox, 'aptos');
    const statuses: number[] = [];
    for (let use = 1; use <= 3; use++) statuses.push((await ask(sandbox, 'aptos', { cursor })).status);
    expect(statuses).toEqual([200, 200, 400]);
  });
});
