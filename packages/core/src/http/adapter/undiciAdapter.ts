import { isUtf8 } from 'node:buffer';
import { Socket } from 'node:net';
import type { Readable, Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import type { AxiosResponse } from 'axios';
import { Agent, buildConnector, EnvHttpProxyAgent, Pool, request, type Dispatcher } from 'undici';
import { ConfigError } from '../../errors.js';
import { isLoopback } from '../origin.js';
import type { Adapter, AdapterOptions } from './adapter.js';
import { AdapterFault } from './adapterFault.js';

/**
 * Undici under axios: keep-alive, a deadline for connecting, and the proxies that `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`
 * name. Loopback addresses never go through a proxy. Redirects are answers like others: undici does not follow them.
 */
export function createAdapter({ connectTimeout, maxBodyBytes }: AdapterOptions): Adapter {
  const timeout = Number.isFinite(connectTimeout) ? connectTimeout : 0;
  const connect = detached(buildConnector({ timeout }));
  // Deadlines of an attempt are the transport's; undici's own would only add a second, coarser clock.
  const options = { connect, headersTimeout: 0, bodyTimeout: 0 };
  const direct = new Agent(options);
  let proxied: EnvHttpProxyAgent | undefined;
  return {
    async send(config) {
      const url = new URL(config.url ?? '');
      // `deflate` is read, but not asked for: servers disagree on what it is.
      const headers: Record<string, string> = { 'accept-encoding': 'gzip, br' };
      for (const [name, value] of Object.entries(config.headers.toJSON())) headers[name] = String(value);
      const answer = await request(url, {
        dispatcher: isLoopback(url.hostname) ? direct : (proxied ??= proxyAgent(connect, timeout)),
        method: config.method?.toUpperCase() === 'POST' ? 'POST' : 'GET',
        headers,
        body: typeof config.data === 'string' ? config.data : null,
        signal: config.signal ?? null,
      }).catch((error: unknown) => {
        throw faultBeforeAnswer(error);
      });
      const response: AxiosResponse<string> = {
        data: await readText(answer, maxBodyBytes),
        status: answer.statusCode,
        statusText: '',
        headers: joinedHeaders(answer.headers),
        config,
      };
      return response;
    },
    async close() {
      await Promise.all([direct.destroy(), proxied?.destroy()]);
    },
  };
}

/** @throws ConfigError if an environment variable names no proxy. Its value is not shown: it may hold a password. */
function proxyAgent(connect: buildConnector.connector, timeout: number): EnvHttpProxyAgent {
  const tls = { timeout };
  try {
    return new EnvHttpProxyAgent({
      connect,
      headersTimeout: 0,
      bodyTimeout: 0,
      requestTls: tls,
      // A proxy that takes the connection and never opens the tunnel is found by the deadline for connecting, too.
      clientFactory: (proxy) => new Pool(proxy, { connect, headersTimeout: timeout }),
    });
  } catch {
    throw new ConfigError(
      'HTTPS_PROXY or HTTP_PROXY names no proxy. Give an address like http://proxy.example.com:8080.',
    );
  }
}

/**
 * Connects with sockets that don't keep the process alive: the deadline of whoever waits for an answer does. So nothing is left
 * behind by a request that is aborted while its connection is being made, which undici does not stop.
 */
function detached(connect: (...args: Parameters<buildConnector.connector>) => unknown): buildConnector.connector {
  return (options, callback) => {
    // Its type does not say so, but undici's connector gives the socket at once.
    const socket = connect(options, callback);
    if (!(socket instanceof Socket)) return;
    socket.unref();
    socket.ref = () => socket;
  };
}

function faultBeforeAnswer(error: unknown): AdapterFault | ConfigError {
  const code = codeOf(error);
  switch (code) {
    case 'UND_ERR_CONNECT_TIMEOUT':
    case 'UND_ERR_HEADERS_TIMEOUT':
      return new AdapterFault('connect-timeout', code);
    case 'UND_ERR_INVALID_ARG':
      return new ConfigError('A link gave the request a header that can not be sent. Check the values it sets.');
    default:
      return new AdapterFault('network', proxyRefusal(error) ?? code);
  }
}

/** What a proxy answered that did not open a tunnel, e.g. 407: undici says so in words only. */
function proxyRefusal(error: unknown): string | undefined {
  const [, status] = /^Proxy response \((\d+)\)/.exec(error instanceof Error ? error.message : '') ?? [];
  return status === undefined ? undefined : `the proxy answered ${status}`;
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

function joinedHeaders(headers: Dispatcher.ResponseData['headers']): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name.toLowerCase(), Array.isArray(value) ? value.join(', ') : value]],
    ),
  );
}

/** Reads a whole body and stops at the first byte beyond `maxBytes`, counted after decompression. */
function readText(answer: Dispatcher.ResponseData, maxBytes: number): Promise<string> {
  const { body, headers } = answer;
  return new Promise((resolve, reject) => {
    const decompress = decompressor(headers['content-encoding']);
    const plain: Readable = decompress ? body.pipe(decompress) : body;
    const chunks: Buffer[] = [];
    let bytes = 0;
    const fail = (fault: AdapterFault): void => {
      reject(fault);
      body.destroy();
      decompress?.destroy();
    };
    const cut = (error: unknown): void => {
      fail(new AdapterFault('cut-body', codeOf(error)));
    };
    body.on('error', cut);
    decompress?.on('error', cut);
    plain.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > maxBytes) fail(new AdapterFault('too-large'));
      else chunks.push(chunk);
    });
    plain.on('end', () => {
      const whole = chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks);
      if (isUtf8(whole)) resolve(whole.toString('utf8'));
      else fail(new AdapterFault('not-text'));
    });
  });
}

function decompressor(encoding: string | string[] | undefined): Transform | undefined {
  switch (String(encoding ?? '').toLowerCase()) {
    case 'gzip':
    case 'x-gzip':
      return createGunzip();
    case 'deflate':
      return createInflate();
    case 'br':
      return createBrotliDecompress();
    default:
      return undefined;
  }
}
