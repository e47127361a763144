import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { freePort } from './freePort.js';

/** The program of the server, as `SLUICE_REDIS` says or from the PATH; `undefined` if there is none. */
export const redisProgram: string | undefined = [
  process.env['SLUICE_REDIS'] ?? '',
  ...(process.env['PATH'] ?? '').split(delimiter).map((folder) => join(folder, 'redis-server')),
].find((path) => path !== '' && existsSync(path));

/** A server of Redis with a folder of its own, which writes everything to its log. */
export interface RedisServer {
  readonly port: number;
  /** `redis://127.0.0.1:PORT`. Nobody needs a password. */
  readonly url: string;
  readonly folder: string;
  /** The server's process, for signals. */
  readonly pid: number;
  /** Ends it as a crash does. */
  kill(): Promise<void>;
  /** Starts it again, with the data that are on the disk, or without. */
  start(options?: { readonly isEmpty?: boolean }): Promise<void>;
  close(): Promise<void>;
}

/** Starts a server. Each command is on the disk before its reply. `settings` are arguments of `redis-server`. */
export async function startRedis(settings: readonly string[] = []): Promise<RedisServer> {
  const program = redisProgram;
  if (program === undefined) throw new Error('Redis is not installed.');
  const folder = mkdtempSync(join(tmpdir(), 'sluice-redis-'));
  const port = await freePort();
  const own = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', ''];
  const durable = ['--appendonly', 'yes', '--appendfsync', 'always', '--logfile', join(folder, 'log')];
  const launch = async () => {
    const child = spawn(program, [...own, ...durable, ...settings], { stdio: 'ignore' });
    const ended = new Promise<void>((resolve, reject) => {
      child.once('exit', () => resolve());
      child.once('error', reject);
    });
    const failed = ended.then(() => {
      throw new Error(`redis-server did not start: see ${folder}/log`);
    });
    await Promise.race([failed, untilReady(port)]);
    return { child, ended };
  };
  let server = await launch();
  const kill = async (): Promise<void> => {
    server.child.kill('SIGKILL');
    await server.ended;
  };
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    folder,
    get pid() {
      return server.child.pid ?? 0;
    },
    kill,
    async start({ isEmpty = false } = {}) {
      if (isEmpty) rmSync(join(folder, 'appendonlydir'), { recursive: true, force: true });
      server = await launch();
    },
    async close() {
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function untilReady(port: number): Promise<void> {
  while (!(await answers(port)));
}

/** Whether the server answers a PING: it refuses commands while it loads its data. */
function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write('PING\r\n'));
    socket.once('data', (data) => {
      socket.destroy();
      resolve(/^(\+PONG|-NOAUTH)/.test(data.toString()));
    });
    socket.once('error', () => setTimeout(() => resolve(false), 10));
  });
}
