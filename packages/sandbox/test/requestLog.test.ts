import { describe, expect, test } from 'vitest';
import { startSandbox } from '../src/index.js';
import { RequestLog } from '../src/requestLog.js';
import { ask } from './ask.js';

describe('the log', () => {
  test('tells what came, when, and how it ended', async () => {
    let now = 0;
    await using sandbox = await startSandbox({ now: () => ++now });
    await (await ask(sandbox, 'streams', { limit: 5 })).text();
    await (await fetch(`${sandbox.url}/favicon.ico`)).text();
    await sandbox.until(() => sandbox.counts.open === 0);
    expect(sandbox.requests).toEqual([
      {
        n: 1,
        endpoint: 'streams',
        method: 'GET',
        path: '/streams-api/streams/evm',
        query: 'limit=5',
        arrivedAt: expect.any(Number),
        took: expect.any(Number),
        status: 200,
        fault: undefined,
        rateLimited: false,
        aborted: false,
      },
      expect.objectContaining({ n: 2, endpoint: undefined, path: '/favicon.ico', query: '', status: 404 }),
    ]);
  });

  test('knows who went away before the answer', async () => {
    await using sandbox = await startSandbox({ latency: 600_000 });
    const leaving = new AbortController();
    const request = expect(ask(sandbox, 'streams', {}, { signal: leaving.signal })).rejects.toThrow();
    await sandbox.until(() => sandbox.counts.open === 1);
    expect(sandbox.requests[0]).toMatchObject({ aborted: false, took: undefined });
    leaving.abort();
    await sandbox.until(() => sandbox.counts.aborted === 1);
    await request;
    expect(sandbox.requests[0]).toMatchObject({ aborted: true, status: undefined, took: expect.any(Number) });
  });

  test('and who went away in the middle of it', async () => {
    await using sandbox = await startSandbox({ script: () => ({ kind: 'slow-drip', every: 1 }) });
    const leaving = new AbortController();
    const answer = await ask(sandbox, 'streams', {}, { signal: leaving.signal });
    leaving.abort();
    await sandbox.until(() => sandbox.counts.aborted === 1);
    await expect(answer.text()).rejects.toThrow();
    expect(sandbox.requests[0]).toMatchObject({ aborted: true, status: 200 });
  });

  test('counts how many were open at once', async () => {
    await using sandbox = await startSandbox({ script: () => ({ kind: 'never' }) });
    const leaving = new AbortController();
    const requests = Array.from({ length: 4 }, () => ask(sandbox, 'aptos', {}, { signal: leaving.signal }));
    await sandbox.until(() => sandbox.counts.open === 4);
    leaving.abort();
    await Promise.allSettled(requests);
    await sandbox.until(() => sandbox.counts.open === 0);
    expect(sandbox.counts).toEqual({ requests: 4, byStatus: {}, rateLimited: 0, aborted: 4, open: 0, maxOpen: 4 });
  });

  test('remembers the last 10,000 requests and counts them all', () => {
    const log = new RequestLog(() => 0);
    for (let sent = 1; sent <= 10_400; sent++) {
      const request = { endpoint: 'streams', method: 'GET', path: '/', query: '' } as const;
      log.end(log.arrive({ ...request, fault: undefined, rateLimited: false }), false);
    }
    expect(log.counts.requests).toBe(10_400);
    expect(log.entries).toHaveLength(10_000);
    expect(log.entries[0]?.n).toBe(401);
  });
});
