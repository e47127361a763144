import { once } from 'node:events';
import type { Socket } from 'node:net';
import { afterRunning, systemClock } from '../../clock.js';
import { AdapterFault, type AdapterOptions, type AttemptRequest } from './adapter.js';
import { connect } from './connect.js';
import { proxyFor } from './proxy.js';

/** An open connection, encrypted if its URL is `https:`. */
export interface Connection {
  readonly socket: Socket;
  /** Where it leads: requests with the same route share connections. */
  readonly route: string;
  /** Whether it was idle before, so that the server may have closed it. */
  readonly isReused: boolean;
}

/** Ms that a connection waits for a request. */
const longestIdle = 10_000;

/** The connections of an adapter: each carries one request at a time, and then waits for the next one. */
export class Connections {
  readonly #options: AdapterOptions;
  readonly #idle = new Map<string, Socket[]>();
  readonly #open = new Set<Socket>();
  readonly #opening = new Set<AbortController>();

  constructor(options: AdapterOptions) {
    this.#options = options;
  }

  /** An idle connection, or a new one. Opening it stops on abort. @throws AdapterFault, SluiceError, the signal's reason. */
  async acquire(url: URL, { isFresh, signal }: Pick<AttemptRequest, 'isFresh' | 'signal'>): Promise<Connection> {
    const { guard, proxies = true } = this.#options;
    // A proxy would resolve names itself, unguarded.
    const proxy = guard || !proxies ? undefined : proxyFor(url);
    const route = `${url.origin} ${proxy?.href ?? ''}`;
    const idle = isFresh ? undefined : this.#takeIdle(route);
    if (idle) return { socket: idle, route, isReused: true };
    const opening = new AbortController();
    const onAbort = (): void => opening.abort(signal?.reason);
    signal?.throwIfAborted();
    signal?.addEventListener('abort', onAbort, { once: true });
    const cancelDeadline = afterRunning(systemClock, this.#options.connectTimeout, () =>
      opening.abort(new AdapterFault('connect-timeout')),
    );
    this.#opening.add(opening);
    try {
      const socket = await connect(url, { proxy, guard, signal: opening.signal });
      this.#open.add(socket);
      socket.once('close', () => this.#forget(socket, route)).once('timeout', () => socket.destroy());
      return { socket, route, isReused: false };
    } finally {
      cancelDeadline();
      signal?.removeEventListener('abort', onAbort);
      this.#opening.delete(opening);
    }
  }

  /** Keeps a connection for the next request, if it is still open. */
  release({ socket, route }: Connection): void {
    if (socket.readyState !== 'open') return;
    const all = this.#idle.get(route) ?? [];
    this.#idle.set(route, all);
    all.push(socket);
    socket.setTimeout(longestIdle);
  }

  /** Ends those that wait: the server has closed one of them, so it may be gone. */
  closeIdle(route: string): void {
    for (const socket of this.#idle.get(route) ?? []) socket.destroy();
  }

  /** Ends everything that is open or opening. Resolves once all sockets are closed. */
  async close(): Promise<void> {
    for (const opening of this.#opening) opening.abort(new AdapterFault('network'));
    const closed = [...this.#open].map((socket) => once(socket.destroy(), 'close'));
    await Promise.all(closed);
  }

  /** The one that was used last. */
  #takeIdle(route: string): Socket | undefined {
    const all = this.#idle.get(route) ?? [];
    for (let socket = all.pop(); socket; socket = all.pop())
      if (socket.readyState === 'open') return socket.setTimeout(0);
    return undefined;
  }

  #forget(socket: Socket, route: string): void {
    this.#open.delete(socket);
    const idle = this.#idle.get(route)?.filter((each) => each !== socket) ?? [];
    if (idle.length > 0) this.#idle.set(route, idle);
    else this.#idle.delete(route);
  }
}
