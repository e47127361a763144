import { readFile, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { ConfigError } from '@sluice/core';

/** Whose password is looked for. */
interface Login {
  readonly host: string;
  readonly port: number;
  readonly database: string | undefined;
  readonly user: string | undefined;
}

/**
 * The password in the file of PostgreSQL's own programs; `undefined` if it has none. The driver reads that file, too,
 * with a warning that it will not any more.
 *
 * @param file default: `PGPASSFILE`, or else the file in the user's folder.
 * @throws ConfigError if other users may read the file.
 * @see https://www.postgresql.org/docs/current/libpq-pgpass.html
 */
export async function findPassword(
  { host, port, database, user }: Login,
  file = process.env['PGPASSFILE'] ?? defaultFile(),
): Promise<string | undefined> {
  const found = await stat(file).catch(() => undefined);
  if (!found?.isFile()) return undefined;
  if (process.platform !== 'win32' && (found.mode & 0o077) !== 0)
    throw new ConfigError(`${file} may be read by other users, so its passwords are not used. Run: chmod 600 ${file}`);
  // A socket of the file system is this host.
  const wanted = [host.startsWith('/') ? 'localhost' : host, String(port), database, user];
  for (const line of (await readFile(file, 'utf8')).split(/\r?\n/)) {
    const fields = line.startsWith('#') ? [] : splitLine(line);
    if (fields.length > wanted.length && wanted.every((value, nth) => fields[nth] === '*' || fields[nth] === value))
      return fields[wanted.length];
  }
  return undefined;
}

/** A backslash takes the special meaning of the character after it. */
function splitLine(line: string): readonly string[] {
  const fields: string[] = [];
  let field = '';
  for (const [part, escaped] of line.matchAll(/\\(.)|./g)) {
    if (part !== ':') field += escaped ?? part;
    else {
      fields.push(field);
      field = '';
    }
  }
  return [...fields, field];
}

function defaultFile(): string {
  return process.platform === 'win32'
    ? join(process.env['APPDATA'] ?? homedir(), 'postgresql', 'pgpass.conf')
    : join(homedir(), '.pgpass');
}
