import { abortable } from '../../abortable.js';
import { ConfigError } from '../../errors.js';
import { type Adapter, AdapterFault, type AdapterOptions } from './adapter.js';
import type { AttemptRequest, AttemptResponse } from './adapter.js';

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
      const answer = respond(request);
      // Platforms do not always abort at once.
      return request.signal ? abortable(answer, request.signal) : answer;
    },
    close: () => Promise.resolve(),
  };

  async function respond({ url, method, headers, body, signal, onWrite }: AttemptRequest): Promise<AttemptResponse> {
    const answer = await fetch(url, {
      method,
      headers,
      body: body ?? null,
      signal: signal ?? null,
      redirect: 'manual',
      credentials: 'omit',
      // A page must come from the API, not from a cache.
      cache: 'no-store',
    }).catch((error: unknown) => {
      throw new AdapterFault('network', codeOf(error));
    });
    onWrite?.();
    return {
      status: answer.type === 'opaqueredirect' ? 302 : answer.status,
      headers: Object.fromEntries(answer.headers),
      // With `beginning` only the status counts, so the body is not read.
      text: bodies === 'whole' ? await readText(answer, maxBodyBytes) : '',
    };
  }
}

async function readText(answer: Response, maxBytes: number): Promise<string> {
  if (!answer.body) return '';
  const reader = answer.body.getReader();
  try {
    return await decode(reader, maxBytes);
  } catch (error) {
    // The rest is not needed, nor is the result of cancelling it.
    reader.cancel().catch(() => undefined);
    throw error;
  }
}

async function decode(reader: ReadableStreamDefaultReader<Uint8Array>, maxBytes: number): Promise<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let text = '';
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read().catch((error: unknown) => {
      throw new AdapterFault('cut-body', codeOf(error));
    });
    if (done) return text + decodeText(() => decoder.decode());
    bytes += value.length;
    if (bytes > maxBytes) throw new AdapterFault('too-large');
    text += decodeText(() => decoder.decode(value, { stream: true }));
  }
}

function decodeText(decode: () => string): string {
  try {
    return decode();
  } catch {
    throw new AdapterFault('not-text');
  }
}

/** The code that some platforms give in the error's cause. */
function codeOf(error: unknown): string | undefined {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error && 'code' in cause && typeof cause.code === 'string' ? cause.code : undefined;
}
