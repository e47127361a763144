import { describe, expect, test } from 'vitest';
import { startSandbox } from '../src/index.js';
import { addressOf, ask } from './ask.js';

/** What a browser asks first, when a page wants to send the key. */
const preflight = {
  method: 'OPTIONS',
  headers: {
    origin: 'http://page.example',
    'access-control-request-method': 'GET',
    'access-control-request-headers': 'x-api-key',
  },
};

describe('a page of another origin', () => {
  test('may ask with the key, where that is allowed', async () => {
    await using sandbox = await startSandbox({ cors: true });
    const answer = await fetch(addressOf(sandbox, 'streams'), preflight);
    expect(answer.status).toBe(204);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'GET',
      'access-control-allow-headers': 'x-api-key',
    });
    const page = await ask(sandbox, 'streams');
    expect(page.status).toBe(200);
    expect(page.headers.get('access-control-allow-origin')).toBe('*');
  });

  test('sees refusals, faults and Retry-After too', async () => {
    await using sandbox = await startSandbox({
      cors: true,
      rateLimit: { requests: 3, per: 60_000 },
      script: ({ n }) =>
        n === 2 ? { kind: 'status', status: 500 } : n === 3 ? { kind: 'huge-body', bytes: 10 } : undefined,
    });
    const statuses = [];
    for (const headers of [{}, {}, {}, { 'X-API-Key': 'wrong' }, {}]) {
      const answer = await ask(sandbox, 'streams', {}, { headers: { 'X-API-Key': sandbox.apiKey, ...headers } });
      expect(answer.headers.get('access-control-allow-origin')).toBe('*');
      expect(answer.headers.get('access-control-expose-headers')).toBe('retry-after');
      statuses.push(answer.status);
      await answer.arrayBuffer();
    }
    expect(statuses).toEqual([200, 500, 200, 401, 429]);
  });

  test('is counted once for each request, however many preflights come before it', async () => {
    await using sandbox = await startSandbox({ cors: true, rateLimit: { requests: 1, per: 60_000 } });
    for (let n = 0; n < 3; n += 1) await fetch(addressOf(sandbox, 'aptos'), preflight);
    expect((await ask(sandbox, 'aptos')).status).toBe(200);
    expect(sandbox.requests.map(({ method }) => method)).toEqual(['GET']);
  });

  test('is kept out unless it is allowed', async () => {
    await using sandbox = await startSandbox();
    const answer = await fetch(addressOf(sandbox, 'streams'), preflight);
    expect(answer.status).toBe(405);
    expect([...answer.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
  });
});
