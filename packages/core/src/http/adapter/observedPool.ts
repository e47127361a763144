import type { buildConnector, Dispatcher } from 'undici';
import Client from 'undici/lib/dispatcher/client.js';
import Pool from 'undici/lib/dispatcher/pool.js';
import { AdapterFault } from './adapter.js';
import { type Connection, Incoming } from './incoming.js';

/** A request that carries the handler of its response. */
export interface ObservedRequest extends Dispatcher.DispatchOptions {
  readonly answer: Incoming;
}

type Socket = NonNullable<Parameters<buildConnector.Callback>[1]>;

/** Ms that a connection waits for a request. */
const longestSpare = 10_000;

/**
 * Pools that give each response its connection: `create` is the `factory` of an agent.
 *
 * If a permit grew too old while its request's connection opened, that connection is kept for the next request: undici
 * would close it, and to open another one would take as long again.
 */
export class ObservedPools {
  readonly #spare = new Map<string, SpareConnection[]>();

  readonly create = (origin: string | URL, options: Pool.Options): Pool =>
    new Pool(origin, { ...options, factory: this.#client });

  close(): void {
    for (const spare of [...this.#spare.values()].flat()) spare.socket.destroy();
  }

  readonly #client = (origin: URL, options: Client.Options): Client => {
    const { connect } = options;
    if (typeof connect !== 'function') return new Client(origin, options);
    let connection: ObservedSocket | undefined;
    let answer: Incoming | undefined;
    const client = new Client(origin, {
      ...options,
      connect: (target, callback) => {
        const key = `${target.protocol}//${target.host ?? target.hostname} ${target.servername ?? ''}`;
        const onConnect: buildConnector.Callback = (...outcome) => {
          const [error, socket] = outcome;
          if (error === null && answer?.isOutdated) {
            this.#keep(key, socket);
            callback(new AdapterFault('outdated'), null);
            return;
          }
          connection = error === null ? new ObservedSocket(socket) : undefined;
          callback(...outcome);
        };
        const spare = this.#spare.get(key)?.shift();
        if (!spare) connect(target, onConnect);
        // Undici expects the callback later.
        else queueMicrotask(() => onConnect(null, spare.take()));
      },
    });
    const dispatch = client.dispatch.bind(client);
    return Object.assign(client, {
      dispatch: (...[request, handler]: Parameters<Client['dispatch']>) => {
        // The handler is already wrapped, so the request carries it.
        if ('answer' in request && request.answer instanceof Incoming) {
          ({ answer } = request);
          request.answer.findConnection = () => connection;
        }
        return dispatch(request, handler);
      },
    });
  };

  #keep(key: string, socket: Socket): void {
    const all = this.#spare.get(key) ?? [];
    this.#spare.set(key, all);
    const drop = (): void => void socket.destroy();
    const forget = (): void => void all.splice(all.indexOf(spare), 1);
    const take = (): Socket => socket.ref().setTimeout(0, drop).off('error', drop).off('close', forget);
    const spare = { socket, take };
    all.push(spare);
    // Nobody waits for it, so it must not keep the process alive.
    socket.unref().setTimeout(longestSpare, drop).on('error', drop).on('close', forget);
  }
}

/** An open connection without a request. */
interface SpareConnection {
  readonly socket: Socket;
  readonly take: () => Socket;
}

/** Observes what a socket reads, and rewrites the one thing that undici does not accept. */
class ObservedSocket implements Connection {
  #requests = 0;
  #hasAnswered = false;
  #reading: 'status' | 'interim' | 'answer' = 'status';
  /** Position of the next byte in its line. */
  #at = 0;

  constructor(socket: { read(size?: number): unknown }) {
    const read = socket.read.bind(socket);
    socket.read = (size?: number): unknown => {
      const chunk: unknown = read(size);
      if (chunk instanceof Uint8Array) this.#see(chunk);
      return chunk;
    };
  }

  /** Undici sends one request at a time, so everything read from now on is its response. */
  begin(): void {
    this.#requests += 1;
    this.#hasAnswered = false;
    this.#expect('status');
  }

  get isUnanswered(): boolean {
    return this.#requests > 1 && !this.#hasAnswered;
  }

  #see(chunk: Uint8Array): void {
    this.#hasAnswered = true;
    for (let index = 0; index < chunk.length && this.#reading !== 'answer'; index += 1) {
      const byte = chunk[index] ?? 0;
      if (this.#reading === 'interim') this.#skip(byte);
      else chunk[index] = this.#status(byte);
    }
  }

  /**
   * Turns `100 Continue` into `102 Processing`: clients must accept unsolicited interim responses (RFC 9110, section
   * 15.2), but undici closes the connection on 100 alone.
   */
  #status(byte: number): number {
    const isBlankLine = this.#at === 0 && (byte === carriageReturn || byte === lineFeed);
    if (isBlankLine) return byte;
    this.#at += 1;
    if (this.#at === hundreds && byte !== zero + 1) this.#expect('answer');
    if (this.#at === hundreds + 1 && byte !== zero) this.#expect('interim');
    if (this.#at < hundreds + 2) return byte;
    // 101 is not an interim response: another protocol follows, which we never request.
    this.#expect(byte === zero + 1 ? 'answer' : 'interim');
    return byte === zero ? zero + 2 : byte;
  }

  /** Skips to the blank line that ends an interim response. */
  #skip(byte: number): void {
    if (byte === carriageReturn) return;
    if (byte !== lineFeed) this.#at += 1;
    else if (this.#at > 0) this.#at = 0;
    else this.#expect('status');
  }

  #expect(what: 'status' | 'interim' | 'answer'): void {
    this.#reading = what;
    // After the status line, the current line is not blank.
    this.#at = what === 'interim' ? 1 : 0;
  }
}

/** Position after the first digit of the status in a status line: `HTTP/1.1 1`. */
const hundreds = 10;
const carriageReturn = 13;
const lineFeed = 10;
const zero = 48;
