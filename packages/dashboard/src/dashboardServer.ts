import { timingSafeEqual } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { ConfigError } from '@sluice/core';
import type { Snapshot } from './snapshot.js';

/** Ms between two snapshots. */
const interval = 250;
/** Ms that the last frame may take to leave. */
const lastFrame = 400;
const defaultSpan = 300;

interface ServerOptions {
  readonly port: number;
  readonly token: string;
  /** Where the page's files are. */
  readonly folder: string;
  readonly snapshot: (span: number) => Snapshot;
}

const files: ReadonlyMap<string, readonly [name: string, type: string]> = new Map([
  ['/', ['index.html', 'text/html; charset=utf-8']],
  ['/page.js', ['page.js', 'text/javascript; charset=utf-8']],
  ['/page.css', ['page.css', 'text/css; charset=utf-8']],
  ['/icon.svg', ['icon.svg', 'image/svg+xml']],
]);

const headers = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cache-Control': 'no-store',
};

/** Who receives snapshots. */
interface Viewer {
  readonly response: ServerResponse;
  readonly span: number;
}

/**
 * Serves the page on 127.0.0.1 and streams snapshots to it, each a line of JSON. Whoever reads slowly gets fewer of
 * them. Neither the server nor a viewer keeps the process alive.
 */
export class DashboardServer {
  readonly #options: ServerOptions;
  readonly #server: Server;
  readonly #viewers = new Set<Viewer>();
  #timer: NodeJS.Timeout | undefined;
  #isEnding = false;

  constructor(options: ServerOptions) {
    this.#options = options;
    this.#server = createServer({ keepAliveTimeout: 1_000, requestTimeout: 10_000 }, (request, response) => {
      this.#answer(request, response).catch(() => response.destroy());
    });
    this.#server.on('connection', (socket) => socket.unref());
  }

  /** Resolves to the address, with the token in the fragment. @throws ConfigError if the port can't be used. */
  listen(): Promise<string> {
    const { port, token } = this.#options;
    return new Promise((resolve, reject) => {
      this.#server.once('error', (error) => {
        const code = 'code' in error ? String(error.code) : error.message;
        reject(
          new ConfigError(
            `The dashboard can't use port ${port} (${code}). Does the same command run already? Else give another port, or none for any that is free.`,
            { option: 'port' },
          ),
        );
      });
      this.#server.listen(port, '127.0.0.1', () => {
        // E.g. that no file is left to open: the run goes on, and the page asks again.
        this.#server.on('error', () => undefined);
        this.#server.unref();
        resolve(`http://127.0.0.1:${readPort(this.#server.address())}/#${token}`);
      });
    });
  }

  /** Sends everybody the last snapshot and closes all connections. Takes 400 ms at most. */
  async close(): Promise<void> {
    this.#isEnding = true;
    clearInterval(this.#timer);
    const farewells = [...this.#viewers].map(
      ({ response, span }) =>
        new Promise<void>((resolve) => {
          response.on('close', resolve);
          response.end(this.#line(span), () => resolve());
        }),
    );
    let timer: NodeJS.Timeout | undefined;
    await Promise.race([
      Promise.all(farewells),
      new Promise((resolve) => {
        timer = setTimeout(resolve, lastFrame);
      }),
    ]);
    clearTimeout(timer);
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method, url = '/', headers: received } = request;
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    // A page of another name that resolves to this machine must not read what we show (DNS rebinding).
    if (!isLocal(received.host)) {
      refuse(response, 421, 'This server only answers to localhost.');
      return;
    }
    if (method !== 'GET') {
      refuse(response, 405, 'Only GET is allowed.', { Allow: 'GET' });
      return;
    }
    const { pathname, searchParams } = new URL(url, 'http://localhost');
    if (pathname === '/snapshots') {
      if (!this.#isAuthorized(received.authorization)) {
        refuse(response, 401, 'The token is missing or wrong. Open the address that the command printed.', {
          'WWW-Authenticate': 'Bearer',
        });
        return;
      }
      this.#stream(response, parseSpan(searchParams.get('span')));
      return;
    }
    const [name, type] = files.get(pathname) ?? [];
    if (name === undefined || type === undefined) {
      refuse(response, 404, 'There is nothing here.');
      return;
    }
    const body = await readFile(join(this.#options.folder, name));
    response.writeHead(200, { 'Content-Type': type, 'Content-Length': body.length });
    response.end(body);
  }

  #isAuthorized(header = ''): boolean {
    const expected = Buffer.from(`Bearer ${this.#options.token}`);
    const actual = Buffer.from(header);
    return expected.length === actual.length && timingSafeEqual(expected, actual);
  }

  #stream(response: ServerResponse, span: number): void {
    response.writeHead(200, { 'Content-Type': 'application/x-ndjson; charset=utf-8' });
    if (this.#isEnding) {
      response.end(this.#line(span));
      return;
    }
    const viewer: Viewer = { response, span };
    this.#viewers.add(viewer);
    response.on('close', () => {
      this.#viewers.delete(viewer);
      if (this.#viewers.size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    });
    response.on('error', () => undefined);
    this.#send(viewer);
    this.#timer ??= setInterval(() => {
      for (const each of this.#viewers) this.#send(each);
    }, interval).unref();
  }

  #send({ response, span }: Viewer): void {
    // Whoever has not read the last one gets the state of when they have.
    if (!response.writableNeedDrain) response.write(this.#line(span));
  }

  #line(span: number): string {
    return `${JSON.stringify(this.#options.snapshot(span))}\n`;
  }
}

function refuse(response: ServerResponse, status: number, message: string, more: Record<string, string> = {}): void {
  response.writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8', ...more });
  response.end(`${message}\n`);
}

/** `localhost` or a literal address of this machine, with any port: a tunnel may have another one. */
export function isLocal(host: string | undefined): boolean {
  return host !== undefined && /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i.test(host);
}

function parseSpan(text: string | null): number {
  if (text === 'all') return Infinity;
  const span = Number(text ?? defaultSpan);
  return Number.isInteger(span) && span >= 60 && span <= 86_400 ? span : defaultSpan;
}

function readPort(address: AddressInfo | string | null): number {
  return typeof address === 'object' && address !== null ? address.port : 0;
}
