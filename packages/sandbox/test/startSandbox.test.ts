import { describe, expect, test } from 'vitest';
import { startSandbox } from '../src/index.js';
import { ask, askPage, walk } from './ask.js';

describe('the same seed', () => {
  test('gives the same bytes, from another server too', async () => {
    await using one = await startSandbox({ seed: 7, holdings: 500 });
    await using other = await startSandbox({ seed: 7, holdings: 500 });
    expect(one.port).not.toBe(other.port);
    for (const endpoint of ['streams', 'aptos'] as const) {
      const pages = await walk(one, endpoint, { limit: 33 });
      expect(pages.length).toBeGreaterThan(1);
      expect(pages).toEqual(await walk(other, endpoint, { limit: 33 }));
    }
  });

  test('and another seed gives other owners, other holdings and other streams', async () => {
    await using one = await startSandbox({ seed: 1 });
    await using other = await startSandbox({ seed: 2 });
    expect(one.owners).not.toEqual(other.owners);
    expect(one.holding(0)).not.toEqual(other.holding(0));
    expect((await askPage(one, 'streams')).text).not.toBe((await askPage(other, 'streams')).text);
  });
});

describe('options', () => {
  test.each([
    [{ nasty: 1.5 }, 'nasty is 1.5: give a number from 0 to 1.'],
    [{ holdings: -1 }, 'holdings is -1: give a whole number from 0 to 4294967295.'],
    [{ owners: 0 }, 'owners is 0: give a whole number from 1 to 1000000.'],
    [{ latency: [20, 10] as const }, 'latency is 10: give a number from 20 to Infinity.'],
    [{ rateLimit: { requests: 0, per: 1_000 } }, 'rateLimit.requests is 0: give a whole number from 1 to 10000000.'],
    [{ faults: { reset: 0.6, never: 0.6 } }, 'The sum of all faults is 1.2: give a number from 0 to 1.'],
  ])('that make no sense are refused by name: %j', async (options, message) => {
    await expect(startSandbox(options)).rejects.toThrow(new RangeError(message));
  });

  test('say so when the port is taken', async () => {
    await using sandbox = await startSandbox();
    await expect(startSandbox({ port: sandbox.port })).rejects.toThrow(
      `The sandbox can't listen on 127.0.0.1:${sandbox.port}: the port is in use by another process. Choose another port`,
    );
  });

  test('latency holds each answer back', async () => {
    await using sandbox = await startSandbox({ latency: [30, 40] });
    await ask(sandbox, 'streams');
    await sandbox.until(() => sandbox.counts.open === 0);
    const [request] = sandbox.requests;
    // Timers may fire a millisecond early.
    expect(request?.took).toBeGreaterThan(28);
  });

  test('compress packs large bodies for clients that accept gzip', async () => {
    await using sandbox = await startSandbox({ compress: true, streams: 10 });
    const headers = { 'X-API-Key': sandbox.apiKey };
    const large = await ask(sandbox, 'streams', {}, { headers: { ...headers, 'Accept-Encoding': 'gzip' } });
    const unasked = await ask(sandbox, 'streams', {}, { headers: { ...headers, 'Accept-Encoding': 'identity' } });
    const small = await ask(sandbox, 'streams', { limit: 101 }, { headers: { ...headers, 'Accept-Encoding': 'gzip' } });
    expect([large, unasked, small].map((answer) => answer.headers.get('content-encoding'))).toEqual([
      'gzip',
      null,
      null,
    ]);
    expect(await large.text()).toBe(await unasked.text());
  });
});
