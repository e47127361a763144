import { createServer, type Socket } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createSender } from '../../src/kit.js';
import { openTransport } from './openTransport.js';
import { ok, portOf, startServer, type Answer } from './scriptedServer.js';

const continued = 'HTTP/1.1 100 Continue\r\n\r\n';
const answered = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 13\r\n\r\n{"fine":true}';

/** A server that answers each request with these bytes, in these pieces, each piece once the one before has left. */
async function serverOf(
  ...answers: readonly (readonly string[])[]
): Promise<{ url: string; connections: () => number }> {
  let connections = 0;
  let requests = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.setNoDelay(true);
    socket.on('error', () => undefined);
    socket.on('data', () => {
      const pieces = answers[requests] ?? answers.at(-1) ?? [];
      requests += 1;
      sendPieces(socket, pieces);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
  });
  return { url: `http://127.0.0.1:${String(portOf(server.address()))}`, connections: () => connections };
}

function sendPieces(socket: Socket, [piece, ...rest]: readonly string[]): void {
  if (piece !== undefined) socket.write(piece, () => setImmediate(() => sendPieces(socket, rest)));
}

describe('T6 an interim answer that nobody asked for is passed over', () => {
  test.each([
    ['100 Continue', [continued + answered]],
    ['several of them', [continued + continued + continued, answered]],
    ['100 Continue with headers', ['HTTP/1.1 100 Continue\r\nserver: x\r\ndate: now\r\n\r\n', answered]],
    ['100 without a reason', ['HTTP/1.1 100 \r\n\r\n', answered]],
    ['102 Processing', [`HTTP/1.1 102 Processing\r\n\r\n${answered}`]],
    ['103 Early Hints', [`HTTP/1.1 103 Early Hints\r\nlink: </a>; rel=preload\r\n\r\n`, answered]],
    [
      'each kind',
      [
        `${continued}HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: <a>\r\n\r\n${continued}`,
        answered,
      ],
    ],
    ['in pieces of a byte', [...(continued + answered)]],
  ])('%s', async (_name, pieces) => {
    const server = await serverOf(pieces);
    const transport = openTransport(server.url, { retry: { retries: 0 } });
    // Over the same connection, too: each answer is read for itself.
    for (let request = 0; request < 5; request += 1)
      expect(await transport.get()).toMatchObject({ body: { fine: true } });
    expect(server.connections()).toBe(1);
  });

  test('an answer is not touched where its body looks like one', async () => {
    const body = JSON.stringify({ text: `\n${continued}` });
    const server = await startServer(ok({ text: `\n${continued}` }));
    const transport = openTransport(server.url);
    expect((await transport.get()).body).toEqual(JSON.parse(body));
  });

  test('of node:http, to an export and to a forward', async () => {
    const early: Answer = (response) => {
      response.writeContinue();
      response.writeProcessing();
      response.writeEarlyHints({ link: '</style.css>; rel=preload' });
      ok()(response);
    };
    const server = await startServer(early);
    expect(await openTransport(server.url, { retry: { retries: 0 } }).get()).toMatchObject({ body: { fine: true } });
    const sender = createSender({ url: server.url, retry: { retries: 0 } });
    onTestFinished(() => sender.close());
    const message = { body: '{}', headers: () => ({}), signal: new AbortController().signal };
    expect(await sender.send(message)).toEqual({ status: 200, attempts: 1 });
    expect(await sender.send(message)).toEqual({ status: 200, attempts: 1 });
  });

  test('101 is refused, since another protocol would follow', async () => {
    const server = await serverOf(['HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n']);
    const error: unknown = await openTransport(server.url, { retry: { retries: 0 } })
      .get()
      .catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'network' });
  });

  test('one that never ends, until the deadline', async () => {
    const server = await serverOf(['HTTP/1.1 100 Continue\r\nx: ']);
    const transport = openTransport(server.url, { retry: { retries: 0 } });
    const outcome = transport.get().catch((reason: unknown) => reason);
    await transport.clock.asked(30_000);
    await transport.clock.advance(30_000);
    expect(await outcome).toMatchObject({ code: 'timeout' });
  });
});
