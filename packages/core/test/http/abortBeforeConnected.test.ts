import { connect } from 'node:net';
import { Agent } from 'undici';
import { expect, onTestFinished, test } from 'vitest';
import { Incoming } from '../../src/http/adapter/incoming.js';
import { ok, startServer } from './scriptedServer.js';

test('T4 a request that is aborted while its connection is made never leaves', async () => {
  const server = await startServer(ok(), ok());
  const { hostname, port, origin } = new URL(server.url);
  let goOn: () => void = () => undefined;
  const released = new Promise<void>((resolve) => (goOn = resolve));
  let begin: () => void = () => undefined;
  const connecting = new Promise<void>((resolve) => (begin = resolve));
  const agent = new Agent({
    connections: 1,
    connect: (_, callback) => {
      begin();
      void released.then(() => {
        const socket = connect(Number(port), hostname, () => callback(null, socket));
      });
    },
  });
  onTestFinished(() => agent.destroy());
  const request = (path: string, signal?: AbortSignal): Incoming => {
    const incoming = new Incoming({ maxBytes: 1_000, signal });
    agent.dispatch({ origin, path, method: 'GET' }, incoming);
    return incoming;
  };

  const stop = new AbortController();
  const aborted = request('/aborted', stop.signal);
  await connecting;
  stop.abort('not wanted');
  await expect(aborted.answered).rejects.toBe('not wanted');
  goOn();
  // It takes the same connection, behind the other one.
  const next = request('/next');
  await next.complete;
  expect(next.status).toBe(200);
  expect(server.requests.map(({ url }) => url)).toEqual(['/next']);
});
