import type { Environment } from '../environment.js';
import { UsageError } from '../faults/usageError.js';
import { readInput, whyUnreadable } from './readInput.js';

/** Shorter words of a header are no secrets, and would be missing from every other sentence. */
const shortestSecret = 12;

/**
 * The headers in a file, one a line, as HTTP has them; blank lines are skipped. They may hold tokens, so no fault repeats them.
 *
 * @throws UsageError if it can't be read, or a line is no header.
 * @example 'Authorization: Bearer …' // { Authorization: 'Bearer …' }
 */
export async function readHeaders(file: string, environment: Environment): Promise<Readonly<Record<string, string>>> {
  const headers = new Map<string, string>();
  for (const [index, line] of (await readHeaderFile(file, environment)).split(/\r\n|\n|\r/).entries()) {
    if (line.trim() === '') continue;
    const [, name, value] = /^([^\s:]+):\s*(.*?)\s*$/.exec(line) ?? [];
    if (name === undefined || value === undefined)
      throw new UsageError(
        `Line ${String(index + 1)} of the file that --header-file names is no header. Write one a line, like Authorization: Bearer TOKEN.`,
      );
    headers.set(name, value);
    for (const word of value.split(/\s+/)) if (word.length >= shortestSecret) environment.secrets.add(word);
  }
  return Object.fromEntries(headers);
}

async function readHeaderFile(file: string, environment: Environment): Promise<string> {
  try {
    return await readInput(file, environment);
  } catch (error) {
    environment.signal.throwIfAborted();
    throw new UsageError(`The file that --header-file names can't be read: ${whyUnreadable(error)}.`);
  }
}
