import { connect, createServer, type Socket } from 'node:net';
import { onTestEnd } from '../../../scripts/testScope.js';

/** What becomes of connections: a code is that of the error with which the server refuses them. */
export type ServerMode = 'there' | 'refused' | 'silent' | { readonly code: string };

/** A way to a server of PostgreSQL that can be away. It ends with the test. */
export async function switchedProxy(server: number) {
  const open = new Set<Socket>();
  const held = new Set<() => void>();
  let mode: ServerMode = 'there';
  const listener = createServer((client) => {
    open.add(client);
    client.on('error', () => undefined).on('close', () => open.delete(client));
    if (typeof mode === 'object') {
      const { code } = mode;
      client.once('data', () => client.end(errorResponse(code)));
      return;
    }
    const upstream = connect(server, '127.0.0.1');
    upstream.on('error', () => client.destroy()).on('close', () => client.destroy());
    client.on('close', () => upstream.destroy());
    for (const [from, to] of [[client, upstream] as const, [upstream, client] as const])
      from.on('data', (data) => {
        const pass = (): void => void to.write(data);
        if (mode === 'silent') held.add(pass);
        else pass();
      });
  });
  const listen = (port = 0): Promise<void> => new Promise((resolve) => listener.listen(port, '127.0.0.1', resolve));
  await listen();
  const address = listener.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  onTestEnd(() => {
    for (const socket of open) socket.destroy();
    listener.close();
  });
  return {
    port,
    /** Cuts the connections that are open, unless they are only silent. */
    async become(next: ServerMode): Promise<void> {
      const before = mode;
      mode = next;
      if (next === 'there') for (const pass of held) pass();
      held.clear();
      if (next === 'there' && before === 'refused') await listen(port);
      if (next === 'refused') listener.close();
      if (next !== 'silent' && next !== 'there') for (const socket of open) socket.destroy();
    },
  };
}

/** @see https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-ERRORRESPONSE */
function errorResponse(code: string): Buffer {
  const fields = Buffer.from(`SFATAL\0VFATAL\0C${code}\0Msaid by hunter22\0\0`);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(fields.length + 4);
  return Buffer.concat([Buffer.from('E'), length, fields]);
}
