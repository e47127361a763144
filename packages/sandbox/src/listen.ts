/// <reference lib="esnext.disposable" preserve="true" />
import { createServer, type RequestListener } from 'node:http';
import type { ServerLog } from './serverLog.js';

/** A running server. `await using` closes it. */
export interface LocalServer extends AsyncDisposable {
  /** `http://127.0.0.1:…`, without a path. */
  readonly url: string;
  readonly port: number;
  /**
   * Resolves when the condition holds; checked whenever something happens to a request, so it should be cheap. Rejects
   * if the server closes.
   *
   * @example await receiver.until(() => receiver.accepted.size === 10_000);
   */
  until(condition: () => boolean): Promise<void>;
  /** Stops at once: closes connections and clears timers. Counts stay readable. Later calls have no effect. */
  close(): Promise<void>;
}

/**
 * Listens on 127.0.0.1.
 *
 * @param wanted 0 for any free port.
 * @param who the subject of the error message if the port is in use, e.g. `The sandbox`.
 */
export async function listen(
  listener: RequestListener,
  wanted: number,
  who: string,
  log: Pick<ServerLog<object>, 'connections' | 'until' | 'close'>,
): Promise<LocalServer> {
  // Idle connections outlive a client's pauses, so that only faults reset connections.
  const server = createServer({ keepAliveTimeout: 600_000 }, listener);
  server.on('connection', () => log.connections++);
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const advice = 'Choose another port, or 0 for any free one.';
      reject(new Error(`${who} can't listen on 127.0.0.1:${wanted}: ${explain(cause)}. ${advice}`, { cause }));
    });
    server.listen(wanted, '127.0.0.1', resolve);
  });
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : wanted;
  let closed: Promise<void> | undefined;
  const close = (): Promise<void> =>
    (closed ??= new Promise((resolve) => {
      log.close();
      server.close(() => resolve());
      server.closeAllConnections();
    }));
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    until: (condition) => log.until(condition),
    close,
    [Symbol.asyncDispose]: close,
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
