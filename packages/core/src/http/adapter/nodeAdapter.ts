import { isAscii, isUtf8, transcode } from 'node:buffer';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { setImmediate as nextLoopTurn, setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';
import { getHeapStatistics } from 'node:v8';
import { gunzip } from 'node:zlib';
import { ConfigError } from '../../errors.js';
import { platformCode } from '../../values.js';
import { type Adapter, AdapterFault, type AdapterOptions, type AttemptRequest, unreadableResponse } from './adapter.js';
import { bodyText, errorText, isGzipFile } from './bodyText.js';
import { type Connection, Connections } from './connections.js';
import { heapNeed } from './heapNeed.js';
import { Incoming } from './incoming.js';

/** `deflate` is decoded but not requested, because servers disagree on what it is. */
const encodings = 'gzip, br';

/**
 * Node's own HTTP under axios: keep-alive, a deadline for connecting, and the proxies of the environment. Redirects are
 * not followed. With a guard, it connects only to addresses that the guard allowed; open connections are reused.
 */
export function createAdapter(options: AdapterOptions): Adapter {
  const { maxBodyBytes, bodies = 'whole' } = options;
  const maxHeap = getHeapStatistics().heap_size_limit * heapShare;
  const connections = new Connections(options);
  return {
    announcesWrites: true,
    async send(request) {
      const url = new URL(request.url);
      const connection = await connections.acquire(url, request);
      const head = await sendRequest(request, { url, connection, connections, maxBodyBytes });
      const text = await (bodies === 'whole'
        ? readWhole(head, { maxBytes: maxBodyBytes, maxHeap })
        : readBeginning(head, maxBodyBytes));
      const { status, headers } = head;
      return { status, headers, text };
    },
    close: () => connections.close(),
  };
}

interface Way {
  readonly url: URL;
  readonly connection: Connection;
  /** Gets the connection back. */
  readonly connections: Connections;
  readonly maxBodyBytes: number;
}

/** The head of a response, whose body may still be arriving. */
interface Head {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly incoming: Incoming;
}

/**
 * Writes a request and waits for the head of its response.
 *
 * @throws AdapterFault; ConfigError if a header is invalid; the signal's reason.
 */
function sendRequest(request: AttemptRequest, { url, connection, connections, maxBodyBytes }: Way): Promise<Head> {
  const { signal, onWrite } = request;
  return new Promise((resolve, reject) => {
    // Node writes a request one tick after it is created. In a tick of its own, no other code runs between `onWrite` and
    // that write but other ticks.
    process.nextTick(() => {
      try {
        signal?.throwIfAborted();
        if (onWrite?.() === false) throw new AdapterFault('outdated');
        write();
      } catch (reason) {
        connections.release(connection);
        reject(reason);
      }
    });

    function write(): void {
      const { socket, isReused } = connection;
      const sent = createRequest(request, url, connection);
      const { bytesRead } = socket;
      let incoming: Incoming | undefined;
      const stop = (): void => void sent.destroy();
      const onAbort = (): void => {
        reject(signal?.reason);
        incoming?.fail(signal?.reason);
        stop();
      };
      const onError = (error: Error): void => {
        const code = platformCode(error);
        const isStale = isReused && socket.bytesRead === bytesRead && isClosed(code);
        if (isStale) connections.closeIdle(connection.route);
        reject(isReused ? new AdapterFault(isStale ? 'stale' : 'network', code) : newConnectionFault(error, code));
        incoming?.fail(new AdapterFault('cut-body', code));
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      sent.on('error', onError);
      sent.on('response', (response) => {
        const { statusCode: status = 0 } = response;
        const headers = readHeaders(response);
        incoming = new Incoming({ encoding: headers['content-encoding'], maxBytes: maxBodyBytes, stop });
        receive(response, incoming);
        response.on('error', onError);
        resolve({ status, headers, incoming });
      });
      sent.on('close', () => {
        signal?.removeEventListener('abort', onAbort);
        // After 101, the connection closes without an error.
        if (!incoming) reject(new AdapterFault('network'));
        connections.release(connection);
      });
      sent.end(request.body);
    }
  });
}

function createRequest(
  { url, method, headers, body, isFresh = false }: AttemptRequest,
  { host, pathname, search }: URL,
  { socket }: Connection,
): ReturnType<typeof httpRequest> {
  try {
    return httpRequest({
      method,
      // `URL` would encode more of a query, e.g. the quotes of OData.
      path: pathname + (/^[^?#]*(\?[!"$-~]+)$/.exec(url)?.[1] ?? search),
      headers: {
        host,
        connection: isFresh ? 'close' : 'keep-alive',
        'accept-encoding': encodings,
        ...headers,
        ...(body !== undefined && { 'content-length': Buffer.byteLength(body) }),
      },
      // It may be encrypted, which makes no difference to HTTP.
      createConnection: () => socket,
    });
  } catch {
    throw new ConfigError('A link gave the request a header that cannot be sent. Check the values it sets.');
  }
}

/** Whether a server that closed the idle connection, as it may (RFC 9112, section 9.3.1), could be the reason. */
function isClosed(code: string | undefined): boolean {
  return code === 'ECONNRESET' || code === 'EPIPE';
}

/** What arrived over a new connection: bytes that Node can't read as a response are the server's, and come again. */
function newConnectionFault(error: Error, code: string | undefined): AdapterFault {
  if (code === undefined || !unreadableResponse.test(code)) return new AdapterFault('network', code);
  const isHttp2 = 'rawPacket' in error && error.rawPacket instanceof Uint8Array && isSettingsFrame(error.rawPacket);
  return new AdapterFault('not-http', isHttp2 ? 'HTTP/2' : code);
}

/** Whether a server began with the frame that HTTP/2 begins with (RFC 9113, 3.4 and 6.5). */
function isSettingsFrame(bytes: Uint8Array): boolean {
  const settings = 0x04;
  return bytes.length >= 9 && bytes[3] === settings && bytes.subarray(5, 9).every((byte) => byte === 0);
}

function receive(response: IncomingMessage, incoming: Incoming): void {
  // It has no content, whatever its headers say and whatever follows (RFC 9110, 15.4.5).
  if (response.statusCode === 304) incoming.close();
  response.on('data', (chunk: Buffer) => incoming.take(chunk));
  response.on('end', () => incoming.end());
}

/** Names in lower case, repeated ones joined. */
function readHeaders({ rawHeaders }: IncomingMessage): Record<string, string> {
  const joined: Record<string, string> = {};
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]?.toLowerCase() ?? '';
    const value = rawHeaders[at + 1] ?? '';
    joined[name] = Object.hasOwn(joined, name) ? `${joined[name] ?? ''}, ${value}` : value;
  }
  return joined;
}

/** Ms to read an ignored body: a connection that takes longer is not worth reusing. */
const longestDrain = 1_000;
/** Ms to wait for the body of an error. */
const longestErrorWait = 250;

/** What has arrived of a body, up to `maxBytes`. The body of a success is not awaited: its status is enough. */
async function readBeginning({ incoming, status }: Head, maxBytes: number): Promise<string> {
  const isSuccess = isSuccessStatus(status);
  // Usually the body arrived with the status, and the connection is free at once.
  if (isSuccess && incoming.isOver) return '';
  const drain = setTimeout(() => incoming.drop(), longestDrain);
  // Nobody waits for this body, so the timer must not keep the process alive.
  drain.unref();
  // A body that breaks off is quoted as far as it came.
  const reading = incoming.complete.catch(() => undefined).finally(() => clearTimeout(drain));
  await Promise.race([reading, isSuccess ? nextLoopTurn() : wait(longestErrorWait, undefined, { ref: false })]);
  return isSuccess ? '' : Buffer.concat(incoming.chunks).toString('utf8', 0, maxBytes);
}

/** Share of the heap for one response: a walk holds several, and serializing them takes as much again. */
const heapShare = 1 / 16;
/** Upper bound of heap per byte of JSON, so that short documents need no check. */
const maxHeapPerByte = 64;

const unpack = promisify(gunzip);

/** A complete body, which may take `maxHeap` bytes once parsed. Of an error the status counts, whatever its body is. */
async function readWhole(
  { incoming, status, headers }: Head,
  { maxBytes, maxHeap }: { readonly maxBytes: number; readonly maxHeap: number },
): Promise<string> {
  const isSuccess = isSuccessStatus(status);
  const { complete, chunks } = incoming;
  await complete.catch((error: unknown) => {
    if (isSuccess || !(error instanceof AdapterFault && error.kind === 'encoding')) throw error;
  });
  const received = chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks);
  const whole = isSuccess && isGzipFile(received) ? await unpackFile(received, maxBytes) : received;
  const text = isSuccess ? bodyText(whole, headers, readUtf8) : errorText(whole, headers);
  if (whole.length * maxHeapPerByte > maxHeap && heapNeed(Buffer.from(text)) > maxHeap)
    throw new AdapterFault('too-heavy');
  return text;
}

/** Takes half the time of a `TextDecoder`, or of `toString`: ASCII is copied, and `transcode` converts in blocks. */
function readUtf8(bytes: Buffer): string | undefined {
  if (isAscii(bytes)) return bytes.toString('latin1');
  if (!isUtf8(bytes)) return undefined;
  const text = transcode(bytes, 'utf8', 'utf16le').toString('utf16le');
  return text.startsWith('\uFEFF') ? text.slice(1) : text;
}

async function unpackFile(file: Buffer, maxBytes: number): Promise<Buffer> {
  try {
    return await unpack(file, { maxOutputLength: maxBytes });
  } catch (error) {
    const code = platformCode(error);
    throw new AdapterFault(code === 'ERR_BUFFER_TOO_LARGE' ? 'too-large' : 'cut-body', code);
  }
}

function isSuccessStatus(status: number): boolean {
  return status >= 200 && status < 300;
}
