import { createReadStream } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import { platform } from 'node:os';
import { dirname, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Environment } from '../environment/environment.js';
import { UsageError } from '../errors/errors.js';
import { shellQuoted } from '../terminal/text.js';

/** The name that means stdin. */
export const standardInput = '-';

/** That there is more to read than may be. */
class TooMuchInput extends Error {}

/**
 * The text of a file, or of stdin for `-`. Rejects with what the system says, and at once with the signal's reason when aborted.
 *
 * @param most bytes: what is longer is a `TooMuchInput`, also where it never ends, as a device may.
 */
export async function readInput(
  file: string,
  { stdin, folder, signal }: Pick<Environment, 'stdin' | 'folder' | 'signal'>,
  max = Infinity,
): Promise<string> {
  signal.throwIfAborted();
  const input = file === standardInput ? stdin : createReadStream(resolve(folder, file));
  const stop = (): void => {
    input.destroy();
  };
  signal.addEventListener('abort', stop, { once: true });
  try {
    return await text(upTo(max, input));
  } finally {
    signal.removeEventListener('abort', stop);
    signal.throwIfAborted();
  }
}

async function* upTo(max: number, chunks: AsyncIterable<unknown>): AsyncGenerator<string | Uint8Array> {
  let bytes = 0;
  for await (const chunk of chunks) {
    if (typeof chunk !== 'string' && !(chunk instanceof Uint8Array)) continue;
    bytes += Buffer.byteLength(chunk);
    if (bytes > max) throw new TooMuchInput();
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

/** In bytes. Keys, secrets and headers are far shorter, so a larger file is another one, or a device without an end. */
const largest = 65_536;

/** Which option names the file, and what it should hold, for sentences that say so. */
interface NamedFile {
  readonly option: string;
  readonly holds: string;
}

/**
 * The text of a file that an option names and that holds a secret. Where other users can read it, there is a warning: it is not
 * refused, since a container's secrets are often mounted so, and can't be changed there.
 *
 * No fault repeats the name, since people put there what the file should hold.
 *
 * @throws UsageError if it can't be read, or is too large.
 */
export async function readNamedFile(
  file: string,
  { option, holds }: NamedFile,
  environment: Environment,
): Promise<string> {
  try {
    if (file !== standardInput) await checkFile(file, option, environment);
    return await readInput(file, environment, largest);
  } catch (error) {
    environment.signal.throwIfAborted();
    if (error instanceof TooMuchInput)
      throw new UsageError(
        `The file that ${option} names has more than 64 KiB, too many for ${holds}. Give the path of a file that holds nothing else.`,
      );
    throw new UsageError(
      `The file that ${option} names can't be read: ${whyUnreadable(error)}. Give the path of a file that holds ${holds}.`,
    );
  }
}

/** Only of a regular file: others cannot read what a pipe gives, as in `--secret-file <(pass show hooks)`. */
async function checkFile(file: string, option: string, { folder, warnings }: Environment): Promise<void> {
  const path = resolve(folder, file);
  if (!(await stat(path)).isFile()) return;
  if (await isReadableByOthers(path))
    warnings.add(
      `Other users of this computer can read the file that ${option} names. Make it yours alone: chmod 600 ${shellQuoted(file)}`,
    );
}

/** The permission of everybody else to read a file, and to reach what is in a folder. */
const others = { read: 0o004, reach: 0o001 };

/**
 * Whether other users of this computer can read a file: its mode says so, and they can reach it through each folder above. A group's
 * rights are not counted, since a service is often given its secrets through one.
 *
 * Windows knows no such modes: there it is `false`. Rejects like `stat`.
 */
async function isReadableByOthers(path: string): Promise<boolean> {
  if (platform() === 'win32') return false;
  const file = await realpath(path);
  if (((await stat(file)).mode & others.read) === 0) return false;
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    if (((await stat(folder)).mode & others.reach) === 0) return false;
    if (folder === dirname(folder)) return true;
  }
}
