import type { Server } from 'node:http';

/**
 * Listens on 127.0.0.1, and answers the port.
 *
 * @param wanted 0 for any free one.
 * @param who begins the sentence of the error that is raised where the port is taken, e.g. `The sandbox`.
 */
export async function listen(server: Server, wanted: number, who: string): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const why = reasonOf(cause);
      reject(
        new Error(`${who} can't listen on 127.0.0.1:${wanted}: ${why}. Choose another port, or 0 for any free one.`, {
          cause,
        }),
      );
    });
    server.listen(wanted, '127.0.0.1', resolve);
  });
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : wanted;
}

function reasonOf(cause: NodeJS.ErrnoException): string {
  switch (cause.code) {
    case 'EADDRINUSE':
      return 'the port is in use by another process';
    case 'EACCES':
      return 'this user may not use the port; those below 1024 are often reserved';
    default:
      return cause.message;
  }
}
