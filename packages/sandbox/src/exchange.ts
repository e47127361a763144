import type { ServerResponse } from 'node:http';
import { pipeline, Readable } from 'node:stream';
import { createGzip, gzipSync } from 'node:zlib';
import type { Answer } from './answer.js';
import type { Fault } from './faults.js';
import { resetSocket } from './resetSocket.js';
import type { LoggedExchange, Open, ServerLog } from './serverLog.js';

/** How a response is sent. */
export interface Delivering {
  readonly fault: Fault | undefined;
  /** Ms before it is sent. */
  readonly wait: number;
  readonly gzip?: boolean;
}

/** Logs the end of an exchange, and returns the function that sends its response, as the fault allows. */
export function openExchange<Own extends object>(
  response: ServerResponse,
  log: ServerLog<Own>,
  entry: Open<LoggedExchange> & Own,
): (answer: Answer, how: Delivering) => void {
  let isSevered = false;
  response.once('close', () => log.end(entry, !response.writableFinished && !isSevered));
  const sever = (how: 'reset' | 'end'): void => {
    isSevered = true;
    if (how === 'reset') resetSocket(response.socket);
    else response.socket?.destroy();
  };
  return (answer, { fault, wait, gzip = false }) => {
    afterwards(response, wait, () => {
      deliver(response, gzip ? pack(answer) : answer, fault, sever);
      if (response.headersSent) entry.status = response.statusCode;
    });
  };
}

/** Calls back after `ms`: at once for 0, never if the client disconnects first. */
function afterwards(response: ServerResponse, ms: number, callback: () => void): void {
  // If the client has disconnected, the timer would never be cleared.
  if (response.destroyed) return;
  if (ms <= 0) {
    callback();
    return;
  }
  const timer = setTimeout(callback, ms);
  response.once('close', () => clearTimeout(timer));
}

function deliver(
  response: ServerResponse,
  { status, headers, body }: Answer,
  fault: Fault | undefined,
  sever: (how: 'reset' | 'end') => void,
): void {
  switch (fault?.kind) {
    case 'never':
      return;
    case 'reset':
      sever('reset');
      return;
    case 'huge-body':
      response.writeHead(status, headers);
      stream(response, fault.bytes, fault.gzip ?? false);
      return;
    case 'cut-body':
      response.writeHead(status, { ...headers, 'content-length': body.length });
      // After the write has finished, because the client may otherwise receive nothing.
      response.write(body.subarray(0, body.length / 2), () => sever('end'));
      return;
    case 'slow-drip':
      response.writeHead(status, { ...headers, 'content-length': body.length });
      drip(response, body, fault.every, fault.bytes ?? 1);
      return;
    default:
      // Node adds the length, and omits the body if there must be none (204, 304).
      for (const [name, value] of Object.entries(headers)) if (value !== undefined) response.setHeader(name, value);
      response.statusCode = status;
      response.end(body);
  }
}

function pack({ status, headers, body }: Answer): Answer {
  if (body.length <= 1_024) return { status, headers, body };
  const packed = { ...headers, 'content-encoding': 'gzip', vary: 'accept-encoding' };
  return { status, headers: packed, body: gzipSync(body, { level: 1 }) };
}

function drip(response: ServerResponse, body: Buffer, every: number, bytes: number): void {
  let sent = 0;
  response.flushHeaders();
  const timer = setInterval(() => {
    response.write(body.subarray(sent, sent + bytes));
    sent += bytes;
    if (sent < body.length) return;
    clearInterval(timer);
    response.end();
  }, every);
  response.once('close', () => clearInterval(timer));
}

function stream(response: ServerResponse, bytes: number, gzip: boolean): void {
  const parts = Readable.from(hugeJson(bytes), { objectMode: false });
  // A client that disconnects early is expected, not an error.
  const ended = (): void => undefined;
  if (gzip) pipeline(parts, createGzip(), response, ended);
  else pipeline(parts, response, ended);
}

function* hugeJson(bytes: number): Generator<Buffer> {
  const part = Buffer.alloc(65_536, 'x');
  yield Buffer.from('{"cursor":null,"hasNextPage":false,"result":[],"padding":"');
  for (let left = bytes; left > 0; left -= part.length) yield part.subarray(0, left);
  yield Buffer.from('"}');
}
