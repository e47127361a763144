import { createServer, type IncomingHttpHeaders, type OutgoingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { resetSocket } from '@sluice/sandbox';
import { onTestEnd } from '../../../../scripts/testScope.js';

/** What a server does with one request. */
export type Answer = (response: ServerResponse) => void;

export interface SeenRequest {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingHttpHeaders;
  /** What has arrived of it. */
  body: string;
  /** Whether the connection ended before the answer was sent. */
  isAborted: boolean;
}

/**
 * A server that does with its nth request what the nth answer says, byte for byte, and with all later ones what the last one
 * says. For what the sandbox, which is well-behaved below HTTP, can't do.
 */
export class ScriptedServer {
  readonly requests: SeenRequest[] = [];
  url = '';
  readonly #server = createServer({ keepAliveTimeout: 60_000 });
  readonly #sockets = new Set<Socket>();
  readonly #watchers = new Set<() => void>();

  constructor(answers: readonly Answer[]) {
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket);
      this.#tell();
      socket.once('close', () => {
        this.#sockets.delete(socket);
        this.#tell();
      });
    });
    this.#server.on('request', (request, response) => {
      const { method, url, headers } = request;
      const seen: SeenRequest = { method, url, headers, body: '', isAborted: false };
      request.setEncoding('utf8').on('data', (part: string) => (seen.body += part));
      response.once('close', () => {
        seen.isAborted = !response.writableFinished;
        this.#tell();
      });
      this.requests.push(seen);
      this.#tell();
      (answers[this.requests.length - 1] ?? answers.at(-1) ?? ok())(response);
    });
  }

  /** Connections that are open. */
  get connections(): number {
    return this.#sockets.size;
  }

  /** Resolves as soon as the condition holds; it is asked whenever a request or a connection comes or goes. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) await new Promise<void>((resolve) => this.#watchers.add(resolve));
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    this.url = `http://127.0.0.1:${String(portOf(this.#server.address()))}`;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #tell(): void {
    for (const tell of this.#watchers) tell();
    this.#watchers.clear();
  }
}

/** Starts one; it is closed when the test ends. */
export async function startServer(...answers: readonly Answer[]): Promise<ScriptedServer> {
  const server = new ScriptedServer(answers);
  await server.listen();
  onTestEnd(() => server.close());
  return server;
}

export function portOf(address: AddressInfo | string | null): number {
  if (address === null || typeof address === 'string') throw new Error('The server does not listen on a port.');
  return address.port;
}

/** A complete answer. */
export function answer(status: number, body: string | Buffer = '', headers: OutgoingHttpHeaders = {}): Answer {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body);
  };
}

/** A document. */
export function ok(value: unknown = { fine: true }): Answer {
  return answer(200, JSON.stringify(value));
}

/** The beginning of an answer, and then whatever `next` does with the connection. */
export function begun(
  part: string | Buffer,
  headers: OutgoingHttpHeaders,
  next: (response: ServerResponse) => void,
): Answer {
  return (response) => {
    response.writeHead(200, { 'content-type': 'application/json', ...headers });
    response.write(part, () => {
      next(response);
    });
  };
}

export function hangUp(response: ServerResponse): void {
  response.socket?.destroy();
}

export function reset(response: ServerResponse): void {
  resetSocket(response.socket);
}

export function never(): void {
  // The request is taken, and that is all.
}
