import { abortable } from '../../abortable.js';
import { ConfigError } from '../../errors.js';
import { platformCode } from '../../values.js';
import { type Adapter, AdapterFault, type AdapterOptions, unreadableResponse } from './adapter.js';
import type { AttemptRequest, AttemptResponse } from './adapter.js';
import { bodyText, errorText, isGzipFile } from './bodyText.js';

/**
 * The platform's `fetch` under axios, for browsers, workers, Bun and Deno. Redirects are not followed; where the
 * platform hides them, they become status 302 without a body. There is no own deadline for connecting: the attempt's
 * deadline covers it. Proxies are up to the platform.
 *
 * @throws ConfigError with a guard: `fetch` resolves names itself and shows no address.
 */
export function createAdapter({ maxBodyBytes, bodies = 'whole', guard }: AdapterOptions): Adapter {
  if (guard)
    throw new ConfigError(
      'This platform does not show which address a host name resolves to, so private addresses cannot be refused. Run it in Node.js, or omit the guard if every address may be reached.',
    );
  return {
    async send(request) {
      const response = respond(request);
      // Platforms do not always abort at once.
      return request.signal ? abortable(response, request.signal) : response;
    },
    close: () => Promise.resolve(),
  };

  async function respond({ url, method, headers, body, signal, onWrite }: AttemptRequest): Promise<AttemptResponse> {
    const response = await fetch(url, {
      method,
      headers,
      body: body ?? null,
      signal: signal ?? null,
      redirect: 'manual',
      credentials: 'omit',
      // A page must come from the API, not from a cache.
      cache: 'no-store',
    }).catch((error: unknown) => {
      const code = codeOf(error);
      throw new AdapterFault(unreadableResponse.test(code ?? '') ? 'not-http' : 'network', code);
    });
    onWrite?.();
    const sent = Object.fromEntries(response.headers);
    return {
      status: response.type === 'opaqueredirect' ? 302 : response.status,
      headers: sent,
      // With `beginning` only the status counts, so the body is not read.
      text: bodies === 'whole' ? await readText(response, sent, maxBodyBytes) : '',
    };
  }
}

/** The text of a body. Of an error the status counts, whatever its body is. */
async function readText(
  { ok, body }: Response,
  headers: Readonly<Record<string, string>>,
  maxBytes: number,
): Promise<string> {
  if (!body) return '';
  const received = await readBytes(body, maxBytes);
  if (!ok) return errorText(received, headers);
  if (!isGzipFile(received)) return bodyText(received, headers);
  const file = new Blob([received]).stream().pipeThrough(new DecompressionStream('gzip'));
  return bodyText(await readBytes(file, maxBytes), headers);
}

async function readBytes(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  maxBytes: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const reader = body.getReader();
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((error: unknown) => {
        throw new AdapterFault('cut-body', codeOf(error));
      });
      if (done) return new Uint8Array(await new Blob(chunks).arrayBuffer());
      bytes += value.length;
      if (bytes > maxBytes) throw new AdapterFault('too-large');
      chunks.push(value);
    }
  } catch (error) {
    // The rest is not needed, nor is the result of cancelling it.
    reader.cancel().catch(() => undefined);
    throw error;
  }
}

/** The code that some platforms give in the error's cause. */
function codeOf(error: unknown): string | undefined {
  return error instanceof Error ? platformCode(error.cause) : undefined;
}
