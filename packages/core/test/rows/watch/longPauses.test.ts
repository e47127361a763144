import { expect, test } from 'vitest';
import { onTestEnd } from '../../../../../scripts/testScope.js';
import { createClient, createSource, watch, type Endpoint, type Plugin } from '../../../src/index.js';
import type { PageHealth } from '../../../src/kit.js';
import { FakeClock } from '../../fakeClock.js';
import { answer, ok, startServer, type ScriptedServer } from '../../http/scriptedServer.js';

type Row = Record<string, string>;

/** A watch of a listing whose first poll is refused, for so many seconds. */
async function watched(seconds: number): Promise<{
  clock: FakeClock;
  server: ScriptedServer;
  health: PageHealth[];
  ended: Promise<unknown>;
}> {
  const server = await startServer(answer(429, '', { 'retry-after': String(seconds) }), ok([{ id: 'a' }]));
  const clock = new FakeClock();
  const plugin: Plugin<'api', Endpoint> = { name: 'api', setup: ({ endpoint }) => endpoint(server.url) };
  const client = createClient({ apiKey: false, rateLimit: false, clock }).use(plugin);
  const source = createSource<Row>({
    name: 'test.rows',
    identity: null,
    schema: { columns: ['id'], key: ({ id = '' }) => id },
    async fetch({ signal }) {
      const rows = await client.api.request({ route: 'test.rows', path: '/', query: {}, signal });
      return { rows: rows as Row[], next: 'end' };
    },
  });
  const health: PageHealth[] = [];
  const running = watch(source, { every: 5_000, polls: 2, clock, onHealth: (each) => health.push(each) });
  const ended = (async () => {
    for await (const { health: each } of running.pages()) if (each?.outcome === 'polled') return 'polled';
    return 'ended';
  })().catch((error: unknown) => error);
  onTestEnd(() => client.close());
  return { clock, server, health, ended };
}

test('R12 C9 a watch reports a poll that was told to wait for 90 s, and requests nothing before these are over', async () => {
  const { clock, server, health, ended } = await watched(90);
  await server.until(() => server.requests.length === 1);
  await clock.asked(5_000);
  expect(health).toMatchObject([{ outcome: 'failed', error: { code: 'rate-limited' } }]);
  await clock.advance(89_000);
  expect(server.requests).toHaveLength(1);
  await clock.advance(1_000);
  expect(await ended).toBe('polled');
});

test('R12 C9 a watch ends if the API asks it to wait for more than a day', async () => {
  const { server, ended } = await watched(86_401);
  expect(await ended).toMatchObject({ code: 'rate-limited', details: { retryAfter: 86_401_000 } });
  expect(server.requests).toHaveLength(1);
});
