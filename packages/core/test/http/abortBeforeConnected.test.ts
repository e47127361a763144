import { createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { createAdapter } from '../../src/http/adapter/nodeAdapter.js';
import { addressGuard } from '../../src/node/index.js';
import { ok, startServer } from './scriptedServer.js';

test('T4 a request that is aborted while its connection is made never leaves', async () => {
  const server = await startServer(ok(), ok());
  const replies: (() => void)[] = [];
  let lookup: () => void = () => undefined;
  const guard = addressGuard({
    allow: ['127.0.0.1'],
    resolve: () =>
      new Promise((resolve) => {
        replies.push(() => resolve([{ address: '127.0.0.1', family: 4 }]));
        lookup();
      }),
  });
  const adapter = createAdapter({ connectTimeout: 10_000, maxBodyBytes: 1_000, guard });
  onTestFinished(() => adapter.close());
  const send = (path: string, signal?: AbortSignal): Promise<{ status: number }> => {
    const url = server.url.replace('127.0.0.1', 'api.sluice.test') + path;
    return adapter.send({ url, method: 'GET', headers: {}, ...(signal && { signal }) });
  };

  const stop = new AbortController();
  const begun = new Promise<void>((resolve) => (lookup = resolve));
  const aborted = send('/aborted', stop.signal);
  await begun;
  stop.abort('not wanted');
  await expect(aborted).rejects.toBe('not wanted');
  lookup = () => replies.forEach((reply) => reply());
  expect(await send('/next')).toMatchObject({ status: 200 });
  expect(server.requests.map(({ url }) => url)).toEqual(['/next']);
});

test('T4 an abort ends a TLS handshake that gets nowhere, and its connection', async () => {
  const silent = createServer();
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const address = silent.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  onTestFinished(() => void silent.close());
  const stop = new AbortController();
  const closed = new Promise<unknown>((resolve) => {
    silent.once('connection', (socket) => {
      socket.on('error', () => undefined).once('close', resolve);
      socket.once('data', () => stop.abort('not wanted'));
    });
  });
  const adapter = createAdapter({ connectTimeout: 10_000, maxBodyBytes: 1_000 });
  onTestFinished(() => adapter.close());
  const url = `https://127.0.0.1:${String(port)}/`;
  await expect(adapter.send({ url, method: 'GET', headers: {}, signal: stop.signal })).rejects.toBe('not wanted');
  await closed;
});
