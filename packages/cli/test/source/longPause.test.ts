import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createClient, type Endpoint, type Plugin } from '@sluice/core';
import { expect, test } from 'vitest';
import { onTestEnd } from '../../../../scripts/testScope.js';
import { FakeClock } from '../../../core/test/fakeClock.js';
import { TimeUp } from '../../src/errors/errors.js';
import { endInLongPause } from '../../src/source/longPause.js';
import { testEnvironment } from '../testEnvironment.js';

const hour = 3_600_000;

/** A client of two APIs: one asks for a pause of two hours, and the responses of the other one are those of the test. */
async function openTwo(clock: FakeClock) {
  const waiting: ServerResponse[] = [];
  const server = createServer(({ url }, response) => {
    if (url === '/paused') response.writeHead(429, { 'retry-after': '7200' }).end();
    else waiting.push(response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const api = <N extends string>(name: N): Plugin<N, Endpoint> => ({
    name,
    setup: ({ endpoint }) => endpoint(`http://127.0.0.1:${String(port)}`, { rateLimit: false }),
  });
  const retry = { maxRetryAfter: 24 * hour };
  const client = createClient({ apiKey: false, clock, retry }).use(api('paused')).use(api('busy'));
  onTestEnd(async () => {
    await client.close().catch(() => undefined);
    server.close();
    server.closeAllConnections();
  });
  return { client, waiting };
}

test('T7 a pause of one API ends nothing while another one is between two pages', async () => {
  const clock = new FakeClock();
  const { client, waiting } = await openTwo(clock);
  const environment = testEnvironment();
  onTestEnd(endInLongPause(client, { ...environment, endsAt: clock.monotonic() + hour }, clock));
  client.paused.request({ route: 'paused.rows', path: '/paused', query: {} }).catch(() => undefined);
  await expect.poll(() => client.limiters.get('paused')).toMatchObject({ queued: 1, pausedFor: 2 * hour });

  await clock.advance(2_000);
  const page = client.busy.request({ route: 'busy.rows', path: '/', query: {} });
  await expect.poll(() => waiting.length).toBe(1);
  await clock.advance(1_000);
  waiting[0]?.end('{}');
  await page;
  await clock.advance(2_000);
  expect(environment.signal.aborted).toBe(false);

  await clock.advance(1_000);
  expect(environment.signal.reason).toBeInstanceOf(TimeUp);
});
