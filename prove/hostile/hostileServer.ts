import { createServer, type Server, type Socket } from 'node:net';
import { once } from 'node:events';
import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import { resetSocket } from '@sluice/sandbox';

/** A response, byte for byte. */
export interface SentAnswer {
  /** What is written, one piece per turn of the event loop. */
  readonly pieces: readonly Uint8Array[];
  /** What happens to the connection then. */
  readonly then: 'keep' | 'end' | 'reset';
}

/** A server below HTTP: it reads requests, and responds with whatever bytes it is given. */
export class HostileServer implements AsyncDisposable {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #answers: readonly SentAnswer[] = [];
  #last: SentAnswer | undefined;

  private constructor(server: Server) {
    this.#server = server;
    server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
      // The client may hang up in the middle of a response.
      socket.on('error', () => undefined);
      void this.#serve(socket);
    });
  }

  static async start(): Promise<HostileServer> {
    const server = new HostileServer(createServer({ noDelay: true }));
    server.#server.listen(0, '127.0.0.1');
    await once(server.#server, 'listening');
    return server;
  }

  get url(): string {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('The server does not listen on a port.');
    return `http://127.0.0.1:${address.port}`;
  }

  /** From now on the request for the nth page gets the nth of these, and later requests the last one. */
  answerWith(answers: readonly SentAnswer[], last: SentAnswer): void {
    this.#answers = answers;
    this.#last = last;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  async #serve(socket: Socket): Promise<void> {
    let asked = '';
    try {
      for await (const chunk of socket) {
        asked += String(chunk);
        for (let end = asked.indexOf('\r\n\r\n'); end >= 0; end = asked.indexOf('\r\n\r\n')) {
          const page = Number(/^x-page: (\d+)/im.exec(asked.slice(0, end))?.[1] ?? 0);
          asked = asked.slice(end + 4);
          const answer = this.#answers[page] ?? this.#last;
          if (answer) await send(socket, answer);
        }
      }
    } catch {
      // The other side closed it.
    }
  }
}

async function send(socket: Socket, { pieces, then }: SentAnswer): Promise<void> {
  for (const piece of pieces) {
    if (socket.destroyed) return;
    if (!socket.write(piece)) await Promise.race([once(socket, 'drain'), once(socket, 'close')]);
    if (pieces.length > 1) await turnOfTheLoop();
  }
  if (then === 'end') socket.end();
  if (then === 'reset') resetSocket(socket);
}
