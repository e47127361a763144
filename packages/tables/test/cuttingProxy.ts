import { connect, createServer, type Socket } from 'node:net';

/** What a proxy does with the response to a COMMIT. */
export type Cut = 'none' | 'before the commit' | 'after the commit';

/** A way to a server that is cut at chosen commits. */
export interface CuttingProxy {
  readonly port: number;
  /** Commits that came by. */
  commits: number;
  /** Cuts all connections that are open. */
  cutAll(): void;
  close(): Promise<void>;
}

const commit = Buffer.from('COMMIT\0');

/** @param cutAt how the nth commit, from 1, is cut. */
export async function startProxy(server: number, cutAt: (nth: number) => Cut): Promise<CuttingProxy> {
  const open = new Set<Socket>();
  const listener = createServer((client) => {
    const upstream = connect(server, '127.0.0.1');
    let cut: Cut = 'none';
    const end = (): void => {
      client.destroy();
      upstream.destroy();
      open.delete(client);
    };
    open.add(client);
    for (const socket of [client, upstream]) socket.on('error', end).on('close', end);
    client.on('data', (data) => {
      if (data.includes(commit)) cut = cutAt((proxy.commits += 1));
      if (cut === 'before the commit') end();
      else upstream.write(data);
    });
    upstream.on('data', (data) => {
      // The server has committed, and nobody hears of it.
      if (cut === 'after the commit') end();
      else client.write(data);
    });
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const address = listener.address();
  const proxy: CuttingProxy = {
    port: typeof address === 'object' && address ? address.port : 0,
    commits: 0,
    cutAll() {
      for (const socket of open) socket.destroy();
    },
    async close() {
      proxy.cutAll();
      await new Promise((resolve) => listener.close(resolve));
    },
  };
  return proxy;
}
