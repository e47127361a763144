import type { ServerResponse } from 'node:http';
import { pipeline, Readable } from 'node:stream';
import { createGzip, gzipSync } from 'node:zlib';
import type { Answer } from './answer.js';
import type { Fault } from './faults.js';

/** Sends a response as the fault allows. @param sever ends the connection from the server's side. */
export function deliver(
  response: ServerResponse,
  answer: Answer,
  { fault, gzip, sever }: { fault: Fault | undefined; gzip: boolean; sever: (how: 'reset' | 'end') => void },
): void {
  switch (fault?.kind) {
    case 'never':
      return;
    case 'reset':
      sever('reset');
      return;
    case 'huge-body':
      deliverHuge(response, fault.bytes, fault.gzip ?? false);
      return;
  }
  const packed = gzip && answer.body.length > 1_024;
  const body = packed ? gzipSync(answer.body, { level: 1 }) : Buffer.from(answer.body);
  response.writeHead(answer.status, {
    ...answer.headers,
    ...(packed ? { 'content-encoding': 'gzip', vary: 'accept-encoding' } : {}),
    'content-length': body.length,
  });
  switch (fault?.kind) {
    case 'cut-body':
      // After the write has finished, because the client may otherwise receive nothing.
      response.write(body.subarray(0, body.length / 2), () => sever('end'));
      return;
    case 'slow-drip':
      drip(response, body, fault.every, fault.bytes ?? 1);
      return;
    default:
      response.end(body);
  }
}

/** Calls back after `ms`: at once for 0, never if the client disconnects first. */
export function afterwards(response: ServerResponse, ms: number, callback: () => void): void {
  if (ms <= 0) {
    callback();
    return;
  }
  const timer = setTimeout(callback, ms);
  response.once('close', () => clearTimeout(timer));
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

function deliverHuge(response: ServerResponse, bytes: number, gzip: boolean): void {
  response.writeHead(200, { 'content-type': 'application/json', ...(gzip ? { 'content-encoding': 'gzip' } : {}) });
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
