import { createReadStream } from 'node:fs';
import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Environment } from '../environment.js';

/** The name that means stdin. */
export const standardInput = '-';

/** That there is more to read than may be. */
export class TooMuchInput extends Error {}

/**
 * The text of a file, or of stdin for `-`. Rejects with what the system says, and at once with the signal's reason when aborted.
 *
 * @param most bytes: what is longer is a `TooMuchInput`, also where it never ends, as a device may.
 */
export async function readInput(
  file: string,
  { stdin, folder, signal }: Pick<Environment, 'stdin' | 'folder' | 'signal'>,
  most = Infinity,
): Promise<string> {
  signal.throwIfAborted();
  const input = file === standardInput ? stdin : createReadStream(resolve(folder, file));
  const stop = (): void => {
    input.destroy();
  };
  signal.addEventListener('abort', stop, { once: true });
  try {
    return await text(upTo(most, input));
  } finally {
    signal.removeEventListener('abort', stop);
    signal.throwIfAborted();
  }
}

async function* upTo(most: number, chunks: AsyncIterable<unknown>): AsyncGenerator<string | Uint8Array> {
  let bytes = 0;
  for await (const chunk of chunks) {
    if (typeof chunk !== 'string' && !(chunk instanceof Uint8Array)) continue;
    bytes += Buffer.byteLength(chunk);
    if (bytes > most) throw new TooMuchInput();
    yield chunk;
  }
}

/** Why a file can't be read, for people. */
export function whyUnreadable(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown fault';
  switch (code) {
    case 'ENOENT':
      return 'it is not there';
    case 'EISDIR':
      return 'it is a folder';
    case 'EACCES':
    case 'EPERM':
      return 'there is no permission to read it';
    default:
      return code;
  }
}
