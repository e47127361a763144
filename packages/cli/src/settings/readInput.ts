import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Environment } from '../environment.js';

/** The name that means stdin. */
export const standardInput = '-';

/** The text of a file, or of stdin for `-`. Rejects like `readFile`, and at once with the signal's reason when aborted. */
export async function readInput(
  file: string,
  { stdin, folder, signal }: Pick<Environment, 'stdin' | 'folder' | 'signal'>,
): Promise<string> {
  if (file !== standardInput) return readFile(resolve(folder, file), { encoding: 'utf8', signal });
  const stop = (): void => {
    stdin.destroy();
  };
  signal.addEventListener('abort', stop, { once: true });
  try {
    return await text(stdin);
  } finally {
    signal.removeEventListener('abort', stop);
    signal.throwIfAborted();
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
