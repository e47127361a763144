import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { postgresPrograms } from '../../../test/kit/postgresServer.js';
import type { DatabaseKind, TestDatabase, TextRow } from './databases.js';

const execute = promisify(execFile);

/**
 * The rows of a query as the database's own program reads them, each value as text. Without the program `sqlite3`, they
 * are those that the driver reads.
 *
 * @param columns expressions by the name that their values get.
 */
export async function readByProgram(
  kind: DatabaseKind['name'],
  database: TestDatabase,
  columns: Readonly<Record<string, string>>,
  from: string,
): Promise<readonly TextRow[]> {
  const names = Object.keys(columns);
  const expressions = Object.values(columns);
  // In hexadecimal digits, whatever characters they have.
  const hex = (value: string): string =>
    kind === 'SQLite' ? `hex(CAST(${value} AS text))` : `encode(convert_to((${value})::text, 'UTF8'), 'hex')`;
  const sql = `SELECT ${expressions.map((value) => `CASE WHEN ${value} IS NULL THEN '' ELSE '=' || ${hex(value)} END`).join(` || ',' || `)} FROM ${from}`;
  const [program, ...options] =
    kind === 'SQLite'
      ? ['sqlite3', '-batch', '-noheader', database.place, sql]
      : [join(postgresPrograms ?? '', 'psql'), '-XAtq', '-c', sql, database.place];
  try {
    const { stdout } = await execute(program, options, { maxBuffer: 64 * 1024 * 1024 });
    return stdout
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => {
        const values = line
          .split(',')
          .map((value) => (value === '' ? null : Buffer.from(value.slice(1), 'hex').toString()));
        return Object.fromEntries(names.map((name, nth) => [name, values[nth] ?? null]));
      });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
    return database.query(`SELECT ${names.map((name) => `${columns[name] ?? name} AS ${name}`).join()} FROM ${from}`);
  }
}
