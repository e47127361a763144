import { secretsInHeader } from '@sluice/exporters/webhook';
import type { Environment } from '../environment/environment.js';
import { UsageError } from '../errors/errors.js';
import { readNamedFile } from './readInput.js';

/**
 * The headers in a file: one per line, as in HTTP. Blank lines are skipped, and a name that comes twice, in any
 * case, is refused. Errors do not quote values: they may be tokens.
 *
 * @example 'Authorization: Bearer …' // { Authorization: 'Bearer …' }
 */
export async function readHeaders(file: string, environment: Environment): Promise<Readonly<Record<string, string>>> {
  const headers = new Map<string, string>();
  const names = new Set<string>();
  const text = await readNamedFile(file, { option: '--header-file', holds: 'headers' }, environment);
  for (const [index, line] of text.split(/\r\n|\n|\r/).entries()) {
    if (line.trim() === '') continue;
    const [, name, value] = /^([^\s:]+):\s*(.*?)\s*$/.exec(line) ?? [];
    if (name === undefined || value === undefined)
      throw new UsageError(
        `Line ${String(index + 1)} of the file that --header-file names is not a header. Write one a line, like Authorization: Bearer TOKEN.`,
      );
    if (names.size === names.add(name.toLowerCase()).size)
      throw new UsageError(
        `The file that --header-file names sets ${name} twice, the second time in line ${String(index + 1)}. Leave one of them out.`,
      );
    headers.set(name, value);
    for (const secret of secretsInHeader(value)) environment.secrets.add(secret);
  }
  return Object.fromEntries(headers);
}
