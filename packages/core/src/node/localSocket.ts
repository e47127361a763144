import { constants } from 'node:fs';
import { mkdtemp, open, rm, symlink } from 'node:fs/promises';
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

/** The longest path of a socket, in bytes: `sun_path` of unix(7), and of BSD. */
const maxPath = { linux: 107, other: 103 } as const;

/** Calls `use` with a path of a socket that the system takes: a path that is too long is replaced by another way to it. */
export async function withSocketPath<R>(
  path: string,
  use: (path: string) => Promise<R>,
  platform: NodeJS.Platform = process.platform,
): Promise<R> {
  const isLinux = platform === 'linux';
  if (Buffer.byteLength(path) <= maxPath[isLinux ? 'linux' : 'other']) return use(path);
  const [folder, name] = [dirname(path), basename(path)];
  if (isLinux) {
    const opened = await open(folder, constants.O_RDONLY | constants.O_DIRECTORY);
    try {
      return await use(`/proc/self/fd/${opened.fd}/${name}`);
    } finally {
      await opened.close();
    }
  }
  const made = await mkdtemp('/tmp/sluice-');
  try {
    await symlink(folder, join(made, 'f'));
    return await use(join(made, 'f', name));
  } finally {
    await rm(made, { recursive: true, force: true });
  }
}
