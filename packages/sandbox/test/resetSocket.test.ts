import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { resetSocket } from '@sluice/sandbox';
import { expect, onTestFinished, test } from 'vitest';

test.each([true, false])('a connection is cut, whether its end has begun (%s) or not', async (hasBegunToEnd) => {
  const server = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const client = connect(port, '127.0.0.1');
  const clientErrors: unknown[] = [];
  client.on('error', (error) => clientErrors.push(error));
  client.resume();
  const clientClosed = new Promise((resolve) => client.once('close', resolve));
  const [socket] = (await once(server, 'connection')) as [typeof client];
  const serverErrors: unknown[] = [];
  socket.on('error', (error) => serverErrors.push(error));
  const closed = new Promise((resolve) => socket.once('close', resolve));

  if (hasBegunToEnd) socket.end();
  resetSocket(socket);

  // With the reset that is refused, the server's side never closes, and its process never ends.
  await closed;
  await clientClosed;
  expect(serverErrors).toEqual([]);
  expect(clientErrors).toEqual(hasBegunToEnd ? [] : [expect.objectContaining({ code: 'ECONNRESET' })]);
});

test('no connection is nothing to cut', () => {
  expect(() => {
    resetSocket(null);
  }).not.toThrow();
});
