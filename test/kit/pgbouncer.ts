import { spawn } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import { freePort } from './freePort.js';
import { ordinaryUser, type PostgresServer } from './postgresServer.js';

/** The program, where Debian or the PATH has it; `undefined` if there is none. */
export const pgbouncerProgram: string | undefined = ['/usr/sbin', ...(process.env['PATH'] ?? '').split(delimiter)]
  .map((folder) => join(folder, 'pgbouncer'))
  .find((path) => existsSync(path));

/** A pooler of transactions before a server of PostgreSQL: each transaction may have another session of the server. */
export interface Pgbouncer {
  readonly port: number;
  close(): Promise<void>;
}

/** Starts a pooler with so many sessions of the server for each database. */
export async function startPgbouncer(server: Pick<PostgresServer, 'port'>, sessions: number): Promise<Pgbouncer> {
  if (pgbouncerProgram === undefined) throw new Error('PgBouncer is not installed.');
  const folder = mkdtempSync(join(tmpdir(), 'sluice-pgbouncer-'));
  const user = await ordinaryUser();
  const port = await freePort();
  const settings = `[databases]
* = host=127.0.0.1 port=${server.port} user=tester
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = ${sessions}
server_round_robin = 1
`;
  const file = join(folder, 'pgbouncer.ini');
  writeFileSync(file, settings);
  if (user) for (const path of [folder, file]) chownSync(path, user.uid, user.gid);
  const child = spawn(pgbouncerProgram, [file], { ...user, stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = new Promise<void>((resolve, reject) => {
    child.once('exit', () => resolve());
    child.once('error', reject);
  });
  const log: string[] = [];
  const isUp = new Promise<void>((resolve) => {
    createInterface(child.stderr).on('line', (line) => {
      log.push(line);
      if (line.includes('process up')) resolve();
    });
  });
  const failed = ended.then(() => {
    throw new Error(`PgBouncer did not start: ${log.join('\n')}`);
  });
  await Promise.race([isUp, failed]);
  // Its end is no fault from now on.
  failed.catch(() => undefined);
  return {
    port,
    async close() {
      child.kill('SIGKILL');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
