import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';

import { startPostgres, type PostgresDatabase, type PostgresServer } from '../test/kit/postgresServer.js';

/**
 * Starts one PostgreSQL for all tests, once the first of them asks for a database: `openDatabase` of test/kit. A database belongs to a
 * test until its connection to here ends. Then it is emptied for the next one, which takes a quarter of what a new one does.
 */
export default async function setup(): Promise<() => Promise<void>> {
  let server: Promise<PostgresServer> | undefined;
  const empty: PostgresDatabase[] = [];
  const loans = new Set<Promise<void>>();
  const lend = async (socket: Socket): Promise<void> => {
    const ended = once(socket.resume(), 'close');
    server ??= startPostgres();
    const database = empty.pop() ?? (await (await server).open());
    socket.write(database.url);
    await ended;
    await database.clear();
    empty.push(database);
  };
  const asked = createServer((socket) => {
    const loan = lend(socket)
      .catch((error: unknown) => {
        console.error(error);
        socket.destroy();
      })
      .finally(() => loans.delete(loan));
    loans.add(loan);
  });
  await once(asked.listen(0, '127.0.0.1'), 'listening');
  const address = asked.address();
  if (typeof address === 'object') process.env['SLUICE_TEST_POSTGRES'] = String(address?.port);
  return async () => {
    asked.close();
    await Promise.all(loans);
    await (await server)?.close();
  };
}
