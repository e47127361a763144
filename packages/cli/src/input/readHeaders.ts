import { secretsInHeader } from '@sluice/exporters/webhook';
import type { Environment } from '../environment/environment.js';
import { UsageError } from '../errors/errors.js';
import { readNamedFile } from './readInput.js';

/**
 * The headers in a file: one per line, as in HTTP. Blank lines are skipped. Errors do not quote them: they may be
 * tokens.
 *
 * @example 'Authorization: Bearer …' // { Authorization: 'Bearer …' }
 */
export async function readHeaders(file: string, environment: Environment): Promise<Readonly<Record<string, string>>> {
  const headers = new Map<string, string>();
  const text = await readNamedFile(file, { option: '--header-file', holds: 'headers' }, environment);
  for (const [index, line] of text.split(/\r\n|\n|\r/).entries()) {
    if (line.trim() === '') continue;
    const [, name, value] = /^([^\s:]+):\s*(.*?)\s*$/.exec(line) ?? [];
    if (name === undefined || value === undefined)
      throw new UsageError(
        `Line ${String(index + 1)} of the file that --header-file names is not a header. Write one a line, like Authorization: Bearer TOKEN.`,
      );
    headers.set(name, value);
    for (const secret of secretsInHeader(value)) environment.secrets.add(secret);
  }
  return Object.fromEntries(headers);
}
