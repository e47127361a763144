import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestEnd } from '../../../../scripts/testScope.js';

/** One request, as it arrived. */
export interface Arrived {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  /** All of it, as text. */
  readonly raw: string;
}

/** What is answered to a request. */
export interface Reply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** Instead of a body: the text as it is. */
  readonly text?: string;
}

export interface RecordingServer {
  readonly url: string;
  readonly arrived: readonly Arrived[];
}

/** A server that keeps every byte of each request, and answers as the function says. */
export async function recordingServer(
  reply: (request: Arrived, nth: number) => Reply | Promise<Reply>,
): Promise<RecordingServer> {
  const arrived: Arrived[] = [];
  const server = createServer((request, response) => {
    const parts: string[] = [];
    request.setEncoding('utf8').on('data', (part: string) => parts.push(part));
    request.on('end', () => {
      const { method = '', url = '', rawHeaders, headers } = request;
      const body = parts.join('');
      const one = { method, url, headers, body, raw: [method, url, ...rawHeaders, body].join('\n') };
      arrived.push(one);
      void Promise.resolve(reply(one, arrived.length)).then(
        ({ status = 200, headers: sent = {}, body: document, text }) => {
          response
            .writeHead(status, { 'content-type': 'application/json', ...sent })
            .end(text ?? JSON.stringify(document));
        },
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestEnd(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return { url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`, arrived };
}
