import { createReadStream } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import { platform } from 'node:os';
import { dirname, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Environment } from '../environment/environment.js';
import { UsageError } from '../errors/errors.js';
import { codeOf } from '../errors/thrown.js';
import { quoteForShell } from '../terminal/text.js';

/** The name that means stdin. */
export const standardInput = '-';

/** Whether an option names a file that can be read more than once. */
export function isReadable(file: string | undefined): boolean {
  return file !== undefined && file !== standardInput;
}

class TooMuchInput extends Error {}

/**
 * The text of a file, or of stdin for `-`. Rejects immediately with the signal's reason.
 *
 * @param called its name in errors. @throws UsageError if it can't be read.
 */
export async function readInput(file: string, called: string, environment: Environment): Promise<string> {
  try {
    return await readUpTo(Infinity, file, environment);
  } catch (error) {
    environment.signal.throwIfAborted();
    throw new UsageError(`${called} can't be read: ${whyUnreadable(error)}.`);
  }
}

/** The same, with the system's error. @param max bytes; rejects with `TooMuchInput` beyond, also if the input never ends. */
async function readUpTo(max: number, file: string, { stdin, folder, signal }: Environment): Promise<string> {
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

/** The lines of a list, from 1, without comments that a `#` starts, and without blank ones. */
export function listLines(text: string): { readonly line: number; readonly text: string }[] {
  const lines = text.replace(/^\ufeff/, '').split(/\r\n|\n|\r/);
  return lines.flatMap((each, at) => {
    const found = each.replace(/#.*/, '').trim();
    return found === '' ? [] : [{ line: at + 1, text: found }];
  });
}

/** Why a file can't be read. */
export function whyUnreadable(error: unknown): string {
  const code = codeOf(error) ?? 'unknown fault';
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

/** Keys, secrets and headers are far shorter, so a larger file is a wrong one, or an endless device. */
const maxBytes = 65_536;

/** The option that names a file, and what the file should contain. For error messages. */
interface NamedFile {
  readonly option: string;
  readonly holds: string;
}

/**
 * The text of a file with a secret. Warns if other users can read it; it is not refused, because secrets are often
 * mounted like this in containers. Errors do not quote the name: people pass the secret itself there.
 */
export async function readNamedFile(
  file: string,
  { option, holds }: NamedFile,
  environment: Environment,
): Promise<string> {
  try {
    if (file !== standardInput) await checkFile(file, option, environment);
    return await readUpTo(maxBytes, file, environment);
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

/** Skips anything but regular files: other users cannot read a pipe, as in `--secret-file <(pass show hooks)`. */
async function checkFile(file: string, option: string, { folder, warnings }: Environment): Promise<void> {
  const path = resolve(folder, file);
  if (!(await stat(path)).isFile()) return;
  if (await isReadableByOthers(path))
    warnings.add(
      `Other users of this computer can read the file that ${option} names. Make it yours alone: chmod 600 ${quoteForShell(file)}`,
    );
}

/** Mode bits of other users: to read a file, and to enter a folder. */
const others = { read: 0o004, enter: 0o001 };

/**
 * Whether other users of this computer can read a file and enter every folder above it. Ignores the rights of the
 * group, through which services often get their secrets. `false` on Windows, which has no such modes. Rejects like
 * `stat`.
 */
async function isReadableByOthers(path: string): Promise<boolean> {
  if (platform() === 'win32') return false;
  const file = await realpath(path);
  if (((await stat(file)).mode & others.read) === 0) return false;
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    if (((await stat(folder)).mode & others.enter) === 0) return false;
    if (folder === dirname(folder)) return true;
  }
}
