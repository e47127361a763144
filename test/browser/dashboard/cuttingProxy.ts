import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** Passes connections on to a port of this machine, until they are cut. */
export class CuttingProxy {
  readonly #server = createServer((socket) => this.#pass(socket));
  readonly #sockets = new Set<Socket>();
  readonly #to: number;
  #isCut = false;

  constructor(to: number) {
    this.#to = to;
  }

  async listen(): Promise<number> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return (this.#server.address() as AddressInfo).port;
  }

  get connections(): number {
    return this.#sockets.size;
  }

  /** Ends all connections, and takes no other until it is mended. */
  cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  mend(): void {
    this.#isCut = false;
  }

  close(): void {
    this.cut();
    this.#server.close();
  }

  #pass(socket: Socket): void {
    if (this.#isCut) {
      socket.destroy();
      return;
    }
    const other = connect(this.#to, '127.0.0.1');
    this.#sockets.add(socket);
    const end = (): void => {
      this.#sockets.delete(socket);
      socket.destroy();
      other.destroy();
    };
    for (const each of [socket, other]) each.on('close', end).on('error', end);
    socket.pipe(other).pipe(socket);
  }
}
