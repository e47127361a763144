import { execFile, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { onTestEnd } from '../../scripts/testScope.js';
import { freePort } from './freePort.js';

const execute = promisify(execFile);
const debian = '/usr/lib/postgresql';

/**
 * The folder of the server's programs, as `SLUICE_POSTGRES` says or where Debian or the PATH has them; `undefined` if
 * there is none. Debian's newest one is taken.
 */
export const postgresPrograms: string | undefined = [
  process.env['SLUICE_POSTGRES'] ?? '',
  ...(existsSync(debian) ? readdirSync(debian) : [])
    .toSorted((a, b) => Number(b) - Number(a))
    .map((version) => join(debian, version, 'bin')),
  ...(process.env['PATH'] ?? '').split(delimiter),
].find((folder) => folder !== '' && existsSync(join(folder, 'initdb')));

/** A database of PostgreSQL. */
export interface PostgresDatabase {
  /** Of its server. */
  readonly port: number;
  /** `postgres://tester@127.0.0.1:PORT/NAME`. Nobody needs a password. */
  readonly url: string;
  /** Runs SQL with psql. @returns its output, without headers. */
  query(sql: string): Promise<string>;
  /** Ends the sessions of others, and drops all tables, types, schemas and settings. */
  clear(): Promise<void>;
}

/** A server of PostgreSQL in a temporary folder, and its database `postgres`. */
export interface PostgresServer extends PostgresDatabase {
  /** Makes an empty database, with these options of CREATE DATABASE. */
  open(options?: string): Promise<PostgresDatabase>;
  /** Ends it as a crash does, without a checkpoint, and starts it again. */
  crash(): Promise<void>;
  close(): Promise<void>;
}

/** Starts a server as an ordinary user, since it refuses to run as root. */
export async function startPostgres(): Promise<PostgresServer> {
  const programs = postgresPrograms;
  if (programs === undefined) throw new Error('PostgreSQL is not installed.');
  const folder = mkdtempSync(join(tmpdir(), 'sluice-pg-'));
  const user = await ordinaryUser();
  if (user) chownSync(folder, user.uid, user.gid);
  const data = join(folder, 'data');
  const options = { ...user, cwd: folder, env: { PATH: process.env['PATH'], LC_ALL: 'C' } };
  await execute(
    join(programs, 'initdb'),
    ['--pgdata', data, '--username', 'tester', '--auth', 'trust', '--encoding', 'UTF8', '--no-sync'],
    options,
  );
  const port = await freePort();
  const settings = [`-p ${port}`, `-k ${folder}`, '-h 127.0.0.1', '-c fsync=off', '-c max_connections=100'].join(' ');
  const control = (...args: readonly string[]): Promise<void> =>
    new Promise((resolve, reject) => {
      // Its output is not read, since the server inherits it.
      const child = spawn(join(programs, 'pg_ctl'), ['--pgdata', data, '-w', ...args], { ...options, stdio: 'ignore' });
      child.once('error', reject);
      child.once('exit', (code) => (code === 0 ? resolve() : reject(new Error(`pg_ctl ${args[0]} failed: ${code}`))));
    });
  const start = (): Promise<void> => control('start', '-l', join(folder, 'log'), '-o', settings);
  await start();
  const url = `postgres://tester@127.0.0.1:${port}/postgres`;
  return {
    ...databaseAt(url),
    open: (options) => createDatabase(url, options),
    async crash() {
      await control('stop', '-m', 'immediate');
      await start();
    },
    async close() {
      await control('stop', '-m', 'immediate');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/**
 * An empty database of the server that all tests share (`scripts/postgres.setup.ts`), until the test ends; a new one if there are options
 * of CREATE DATABASE.
 */
export async function openDatabase(options = ''): Promise<PostgresDatabase> {
  const loan = connect(Number(process.env['SLUICE_TEST_POSTGRES']), '127.0.0.1').setEncoding('utf8');
  onTestEnd(() => loan.end());
  const url = await new Promise<string>((resolve, reject) => {
    loan.once('data', resolve).once('close', () => {
      reject(new Error('The PostgreSQL of the tests did not start.'));
    });
    loan.once('error', reject);
  });
  return options === '' ? databaseAt(url) : createDatabase(new URL('/postgres', url).href, options);
}

async function createDatabase(url: string, options = ''): Promise<PostgresDatabase> {
  const name = `db_${randomUUID().replaceAll('-', '')}`;
  await databaseAt(url).query(`CREATE DATABASE ${name} ${options}`);
  return databaseAt(url.replace(/postgres$/, name));
}

function databaseAt(url: string): PostgresDatabase {
  const options = ['-X', '-q', '-A', '-t', '-v', 'ON_ERROR_STOP=1'];
  const run = async (to: string, sql: string): Promise<string> => {
    const { stdout } = await execute(join(postgresPrograms ?? '', 'psql'), [...options, to, '-c', sql]);
    return stdout.trimEnd();
  };
  return {
    url,
    port: Number(new URL(url).port),
    query: (sql) => run(url, sql),
    async clear() {
      // A session's options win over those that a test gave its database.
      const settings = '-c default_transaction_read_only=off -c lock_timeout=10s -c client_min_messages=warning';
      await run(`${url}?options=${encodeURIComponent(settings)}`, clearing(new URL(url).pathname.slice(1)));
    },
  };
}

function clearing(name: string): string {
  return `ALTER DATABASE ${name} RESET ALL;
    DO $$ DECLARE name text; BEGIN
      -- A session that is told to end may hold locks for a while. One that can't end is left to its test.
      FOR attempt IN 1..200 LOOP
        PERFORM pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}' AND pid <> pg_backend_pid();
        EXIT WHEN NOT FOUND;
        PERFORM pg_sleep(0.01), pg_stat_clear_snapshot();
      END LOOP;
      FOR name IN SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema' LOOP
        EXECUTE format('DROP SCHEMA %I CASCADE', name);
      END LOOP;
    END $$;
    CREATE SCHEMA public;
    GRANT USAGE ON SCHEMA public TO PUBLIC`;
}

/** Whom servers run as that refuse to run as root; `undefined` if this process is not root. */
export async function ordinaryUser(): Promise<{ readonly uid: number; readonly gid: number } | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const [uid, gid] = await Promise.all(['-u', '-g'].map((of) => execute('id', [of, 'nobody'])));
  return { uid: Number(uid?.stdout), gid: Number(gid?.stdout) };
}
