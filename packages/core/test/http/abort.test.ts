import { getEventListeners } from 'node:events';
import { createServer } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createAdapter as createFetchAdapter } from '../../src/http/adapter/fetchAdapter.js';
import { createAdapter as createNodeAdapter } from '../../src/http/adapter/nodeAdapter.js';
import { LocalLimiter } from '../../src/http/limit/localLimiter.js';
import { openTransport, route, type OpenOptions, type OpenTransport } from './openTransport.js';
import { runChild } from './runChild.js';
import { answer, begun, never, ok, portOf, startServer, type Answer, type ScriptedServer } from './scriptedServer.js';

interface Stage {
  readonly stage: string;
  readonly answers: readonly Answer[];
  readonly options?: OpenOptions;
  /** Whether the server has the request, and has to see its connection end. */
  readonly isUnderWay?: boolean;
  /** Turns that other requests hold meanwhile. Default 0. */
  readonly others?: number;
  /** Done before the request that is aborted. */
  readonly before?: (transport: OpenTransport) => unknown;
  /** Resolves when the request has come as far as the stage. */
  readonly reached: (transport: OpenTransport, server: ScriptedServer) => Promise<unknown>;
}

const stages: readonly Stage[] = [
  {
    stage: 'in the queue of the limiter',
    answers: [ok()],
    options: { limiter: (clock) => new LocalLimiter([{ requests: 1, per: 60_000 }], clock) },
    before: (transport) => transport.get(),
    reached: ({ clock }) => clock.asked(60_000),
  },
  {
    stage: 'behind another one in the queue of the limiter',
    answers: [never],
    options: {
      limiter: (clock) => new LocalLimiter([{ requests: 9, per: 60_000, concurrency: 1 }], clock),
      retry: { retries: 0 },
    },
    others: 1,
    before: (transport) => void transport.get().catch(() => undefined),
    reached: (_, server) => server.until(() => server.requests.length === 1),
  },
  {
    stage: 'in a pause of the client',
    answers: [ok()],
    before: ({ limiter }) => limiter.pause(60_000),
    reached: ({ clock }) => clock.asked(60_000),
  },
  {
    stage: 'in a pause of the client, with a limit',
    answers: [ok()],
    options: { limiter: (clock) => new LocalLimiter([{ requests: 9, per: 1_000 }], clock) },
    before: ({ limiter }) => limiter.pause(60_000),
    reached: ({ clock }) => clock.asked(60_000),
  },
  {
    stage: 'while the key is fetched',
    answers: [ok()],
    options: { apiKey: () => new Promise(() => undefined) },
    reached: ({ clock }) => clock.asked(180_000),
  },
  {
    stage: 'in the request',
    answers: [never],
    isUnderWay: true,
    reached: (_, server) => server.until(() => server.requests.length === 1),
  },
  {
    stage: 'in the body',
    answers: [begun('{"result":[', {}, never)],
    isUnderWay: true,
    reached: (_, server) => server.until(() => server.requests.length === 1),
  },
  {
    stage: 'in a back-off',
    answers: [answer(503)],
    options: { retry: { baseDelay: 400_000, maxDelay: 400_000, for: 400_000 } },
    reached: ({ clock }) => clock.asked(200_000),
  },
];

describe.each([
  { name: 'node:http', createAdapter: createNodeAdapter },
  { name: 'fetch', createAdapter: createFetchAdapter },
])('over $name, a request is aborted', ({ createAdapter }) => {
  const reasons = [new Error('enough'), 'a text', { plain: true }, null];
  const cases = stages.flatMap((stage) =>
    reasons.map((reason) => [stage.stage, String(reason), stage, reason] as const),
  );

  test.each(cases)('T4 %s, for %s', async (_stage, _reason, stage, reason) => {
    const server = await startServer(...stage.answers);
    const transport = openTransport(server.url, { createAdapter, timeouts: { total: 180_000 }, ...stage.options });
    await stage.before?.(transport);
    const controller = new AbortController();
    const outcome = endOf(transport.get({ signal: controller.signal }));
    await stage.reached(transport, server);
    const sent = server.requests.length;
    const stack = reason instanceof Error ? reason.stack : undefined;

    controller.abort(reason);
    // The event loop goes round once: neither the network nor a timer has a say in it.
    const end = await Promise.race([outcome, new Promise((resolve) => setImmediate(resolve))]);
    expect(end).toHaveProperty('reason', reason);
    if (reason instanceof Error) expect(reason.stack).toBe(stack);
    expect(transport.limiter.state).toMatchObject({ queued: 0, running: stage.others ?? 0 });
    expect(getEventListeners(controller.signal, 'abort')).toEqual([]);

    if (stage.isUnderWay) await server.until(() => server.requests[0]?.isAborted === true);
    await transport.clock.advance(3_600_000);
    expect(server.requests).toHaveLength(sent);
    expect(transport.clock.pending).toEqual([]);
  });

  test('T4 before it begins', async () => {
    const server = await startServer(ok());
    const transport = openTransport(server.url, { createAdapter });
    expect(await endOf(transport.get({ signal: AbortSignal.abort('enough') }))).toEqual({ reason: 'enough' });
    expect(transport.events).toEqual([]);
    expect(server.connections).toBe(0);
  });

  test('T4 in the moment in which its turn comes', async () => {
    const server = await startServer(ok());
    const controller = new AbortController();
    let released = 0;
    const transport = openTransport(server.url, {
      createAdapter,
      limiter: () => ({
        acquire: () => {
          controller.abort('enough');
          return Promise.resolve({ release: () => (released += 1) });
        },
        pause: () => undefined,
        state: { queued: 0, running: 0, pausedFor: 0 },
      }),
    });
    expect(await endOf(transport.get({ signal: controller.signal }))).toEqual({ reason: 'enough' });
    await transport.clock.advance(1);
    expect(released).toBe(1);
    expect(server.connections).toBe(0);
    expect(transport.events).toEqual([
      { type: 'request', route, request: 1, method: 'GET', url: `${server.url}/things` },
      { type: 'settled', route, request: 1, attempts: 0, took: 0, outcome: 'stopped' },
    ]);
    expect(transport.clock.pending).toEqual([]);
  });

  test('T4 with a limiter that does not listen', async () => {
    const server = await startServer(ok());
    const controller = new AbortController();
    const transport = openTransport(server.url, {
      createAdapter,
      limiter: () => ({
        acquire: () => new Promise(() => undefined),
        pause: () => undefined,
        state: { queued: 0, running: 0, pausedFor: 0 },
      }),
    });
    const outcome = endOf(transport.get({ signal: controller.signal }));
    controller.abort('enough');
    expect(await outcome).toEqual({ reason: 'enough' });
    expect(transport.clock.pending).toEqual([]);
  });
});

test('T4 an abort leaves an answer that has come alone', async () => {
  const server = await startServer(ok());
  const controller = new AbortController();
  const transport = openTransport(server.url);
  expect(await transport.get({ signal: controller.signal })).toMatchObject({ status: 200 });
  controller.abort('too late');
  expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
});

describe('a process that aborts its last request ends by itself', () => {
  const refuse = answer(503);
  const pause = answer(429, '', { 'retry-after': '3000' });
  const first = (server: ScriptedServer): Promise<void> => server.until(() => server.requests.length === 1);

  test.each([
    { stage: 'queue', answers: [ok()], sent: 1 },
    { stage: 'slot', answers: [never], nudge: first, sent: 1 },
    { stage: 'pause', answers: [pause], sent: 1 },
    { stage: 'key', answers: [ok()], sent: 0 },
    { stage: 'request', answers: [never], nudge: first, sent: 1 },
    { stage: 'body', answers: [begun('{', {}, never)], nudge: first, sent: 1 },
    { stage: 'back-off', answers: [refuse], sent: 1 },
  ])('T4 at this stage: $stage', { tags: ['slow'] }, async ({ stage, answers, nudge, sent }) => {
    const server = await startServer(...answers);
    const options = nudge ? { nudge: nudge(server) } : {};
    const outcome = await runChild(new URL('./children/abort.js', import.meta.url), {
      args: [stage, server.url],
      ...options,
    });
    const ends = stage === 'slot' ? ['enough', 'enough'] : ['enough'];
    expect(outcome).toEqual({ code: 0, signal: null, stdout: `${JSON.stringify(ends)}\n`, stderr: '' });
    expect(server.requests).toHaveLength(sent);
  });

  test('T4 at this stage: connect', { tags: ['slow'] }, async () => {
    // It takes connections and is silent ever after, so no TLS handshake gets anywhere.
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      server.close();
    });
    const nudge = new Promise<void>((resolve) => {
      server.once('connection', (socket) => {
        socket.once('data', () => {
          resolve();
        });
      });
    });
    const url = `https://127.0.0.1:${String(portOf(server.address()))}`;
    const outcome = await runChild(new URL('./children/abort.js', import.meta.url), { args: ['connect', url], nudge });
    expect(outcome).toEqual({ code: 0, signal: null, stdout: '["enough"]\n', stderr: '' });
  });
});

function endOf(request: Promise<unknown>): Promise<unknown> {
  return request.then(
    () => 'answered',
    (reason: unknown) => ({ reason }),
  );
}
