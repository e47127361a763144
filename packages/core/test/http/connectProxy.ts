import { createServer, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { onTestEnd } from '../../../../scripts/testScope.js';
import { portOf } from './scriptedServer.js';

export interface ConnectProxy {
  readonly url: string;
  /** What it was asked to connect to. */
  readonly asked: readonly { readonly target: string | undefined; readonly authorization: string | undefined }[];
  /** All that went through it, both ways. */
  readonly bytes: () => Buffer;
}

/**
 * A proxy as company networks have it: it tunnels whatever it is asked to, and sees nothing but bytes. Every tunnel ends at
 * `port` of this machine, whatever name it was asked for.
 *
 * @param refusal a status to answer instead; 0: no answer at all; `end`: it closes the connection
 */
export async function startProxy(port: number, refusal?: number | 'end'): Promise<ConnectProxy> {
  const asked: { target: string | undefined; authorization: string | undefined }[] = [];
  const chunks: Buffer[] = [];
  const sockets = new Set<Socket>();
  const server = createServer();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  });
  server.on('connect', ({ url, headers }: IncomingMessage, client: Socket) => {
    asked.push({ target: url, authorization: headers['proxy-authorization'] });
    if (refusal === 0) return;
    if (refusal === 'end') {
      client.end();
      return;
    }
    if (refusal !== undefined) {
      client.end(`HTTP/1.1 ${String(refusal)} No\r\n\r\n`);
      return;
    }
    const target = connect(port, '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      target.pipe(client);
      client.pipe(target);
    });
    sockets.add(target);
    target.on('error', () => client.destroy());
    target.on('data', (chunk: Buffer) => chunks.push(chunk));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestEnd(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${String(portOf(server.address()))}`,
    asked,
    bytes: () => Buffer.concat(chunks),
  };
}
