import { constants, existsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { createServer, connect, type Server } from 'node:net';
import { basename, dirname, join } from 'node:path';
import { platformCode } from '../values.js';

/**
 * Listens at a path, or under the name of a pipe, and closes each connection. The kernel ends it with the process,
 * however that ends. It does not keep the process alive.
 *
 * @throws the error of the system, e.g. `EPERM` where sockets can't be made
 */
export function listenAt(path: string): Promise<Server> {
  const server = createServer((socket) => socket.destroy()).unref();
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    // Exclusive: in a worker of node:cluster the primary would listen, and outlive it.
    server.listen({ path, exclusive: true }, () => {
      // E.g. no descriptor is left for a connection. Whoever connects has its answer by then.
      server.off('error', reject).on('error', () => undefined);
      resolve(server);
    });
  });
}

/** Connects, and hangs up. Resolves to the code of the error, e.g. `ECONNREFUSED` if nobody listens, or to `accepted`. */
export function tryConnect(path: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ path });
    socket.on('error', (error) => resolve(platformCode(error) ?? 'failed'));
    socket.once('connect', () => {
      socket.destroy();
      resolve('accepted');
    });
  });
}

/** Stops listening. Resolves when a connection is refused. */
export function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
}

/** Bytes of `sun_path`, see unix(7). */
const maxPath = 107;

/**
 * Calls `use` with a path of a socket that Linux takes: one that is too long begins at its folder's descriptor.
 *
 * @throws `ENOTSUP` for one that is too long if there is no /proc; `ENOENT` without its folder
 */
export async function withSocketPath<R>(path: string, use: (path: string) => Promise<R>): Promise<R> {
  if (Buffer.byteLength(path) <= maxPath) return use(path);
  const folder = await open(dirname(path), constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    const short = `/proc/self/fd/${folder.fd}`;
    if (!existsSync(short)) throw Object.assign(new Error(`ENOTSUP: ${path} is too long`), { code: 'ENOTSUP' });
    return await use(join(short, basename(path)));
  } finally {
    await folder.close();
  }
}
