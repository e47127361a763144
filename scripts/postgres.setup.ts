import { once } from 'node:events';
import { createServer } from 'node:net';

import { startPostgres, type PostgresServer } from '../test/kit/postgresServer.js';

/** Starts one PostgreSQL for all tests, once the first of them asks for its URL: `openDatabase` of test/kit. */
export default async function setup(): Promise<() => Promise<void>> {
  let server: Promise<PostgresServer> | undefined;
  const asked = createServer((socket) => {
    server ??= startPostgres();
    server.then(
      ({ url }) => socket.end(url),
      (error: unknown) => {
        console.error(error);
        socket.destroy();
      },
    );
  });
  await once(asked.listen(0, '127.0.0.1'), 'listening');
  const address = asked.address();
  if (typeof address === 'object') process.env['SLUICE_TEST_POSTGRES'] = String(address?.port);
  return async () => {
    asked.close();
    await (await server)?.close();
  };
}
