import { isUtf8 } from 'node:buffer';
import type { Readable, Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import type { AxiosResponse } from 'axios';
import { Agent, EnvHttpProxyAgent, request, type Dispatcher } from 'undici';
import { isLoopback } from '../origin.js';
import type { Adapter, AdapterOptions } from './adapter.js';
import { AdapterFault } from './adapterFault.js';

/**
 * Undici under axios: keep-alive, a deadline for connecting, and the proxies that `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`
 * name. Loopback addresses never go through a proxy. Redirects are answers like others: undici does not follow them.
 */
export function createAdapter({ connectTimeout, maxBodyBytes }: AdapterOptions): Adapter {
  const tls = { timeout: connectTimeout };
  // Deadlines of an attempt are the transport's; undici's own would only add a second, coarser clock.
  const options = { connect: tls, headersTimeout: 0, bodyTimeout: 0 };
  const direct = new Agent(options);
  const proxied = new EnvHttpProxyAgent({ ...options, proxyTls: tls, requestTls: tls });
  return {
    async send(config) {
      const url = new URL(config.url ?? '');
      const headers: Record<string, string> = { 'accept-encoding': 'gzip, deflate, br' };
      for (const [name, value] of Object.entries(config.headers.toJSON())) headers[name] = String(value);
      const answer = await request(url, {
        dispatcher: isLoopback(url.hostname) ? direct : proxied,
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
      await Promise.all([direct.destroy(), proxied.destroy()]);
    },
  };
}

function faultBeforeAnswer(error: unknown): AdapterFault {
  const code = codeOf(error);
  return new AdapterFault(code === 'UND_ERR_CONNECT_TIMEOUT' ? 'connect-timeout' : 'network', code);
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

function joinedHeaders(headers: Dispatcher.ResponseData['headers']): Record<string, string> {
  const joined: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) joined[name.toLowerCase()] = Array.isArray(value) ? value.join(', ') : value;
  }
  return joined;
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
