import type { ServerResponse } from 'node:http';
import { pipeline, Readable } from 'node:stream';
import { deliver } from '../deliver.js';
import type { Reply } from './receiverAnswer.js';

/** Sends a reply. @param sever resets the connection from the server's side. */
export function sendReply(response: ServerResponse, reply: Reply, sever: () => void): void {
  switch (reply.way) {
    case 'silence':
      return;
    case 'reset':
      sever();
      return;
    case 'whole':
      // Node adds the length, and omits the body if there must be none (204, 304).
      for (const [name, value] of Object.entries(reply.headers))
        if (value !== undefined) response.setHeader(name, value);
      response.statusCode = reply.status;
      response.end(reply.body);
      return;
    case 'drip': {
      const { every, bytes } = reply;
      const fault = { kind: 'slow-drip', every, bytes } as const;
      deliver(response, { status: reply.status, headers: {}, body: reply.body }, { fault, gzip: false, sever });
      return;
    }
    case 'endless':
      response.writeHead(reply.status, { 'content-type': 'text/plain' });
      // The client is expected to disconnect, so that is not an error.
      pipeline(Readable.from(withoutEnd(), { objectMode: false }), response, () => undefined);
  }
}

function* withoutEnd(): Generator<Buffer> {
  const part = Buffer.alloc(65_536, 'x');
  while (true) yield part;
}
