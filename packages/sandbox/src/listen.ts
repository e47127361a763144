import { createServer, type RequestListener } from 'node:http';
import type { Socket } from 'node:net';

/** A server that listens. */
export interface ListeningServer {
  readonly port: number;
  /** Number of connections since the start. */
  readonly connections: number;
  /** Stops at once and closes open connections. Later calls have no effect. */
  readonly close: () => Promise<void>;
}

/**
 * Listens on 127.0.0.1.
 *
 * @param wanted 0 for any free port.
 * @param who the subject of the error message if the port is in use, e.g. `The sandbox`.
 */
export async function listen(listener: RequestListener, wanted: number, who: string): Promise<ListeningServer> {
  // Idle connections outlive a client's pauses, so that only faults reset connections.
  const server = createServer({ keepAliveTimeout: 600_000 }, listener);
  const sockets = new Set<Socket>();
  let connections = 0;
  server.on('connection', (socket) => {
    connections++;
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const advice = 'Choose another port, or 0 for any free one.';
      reject(new Error(`${who} can't listen on 127.0.0.1:${wanted}: ${explain(cause)}. ${advice}`, { cause }));
    });
    server.listen(wanted, '127.0.0.1', resolve);
  });
  const address = server.address();
  let closed: Promise<void> | undefined;
  return {
    port: typeof address === 'object' && address !== null ? address.port : wanted,
    get connections() {
      return connections;
    },
    close: () =>
      (closed ??= new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      })),
  };
}

function explain(cause: NodeJS.ErrnoException): string {
  switch (cause.code) {
    case 'EADDRINUSE':
      return 'the port is in use by another process';
    case 'EACCES':
      return 'this user may not use the port; those below 1024 are often reserved';
    default:
      return cause.message;
  }
}
