import { execFile } from 'node:child_process';
import { fstat } from 'node:fs';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { hostname } from 'node:os';
import { promisify } from 'node:util';
import { isCount, isRecord } from '../values.js';
import { identify, type WritableFile } from './files/fileSystem.js';

/** Identifies a process for all time, since process numbers are reused. Unknown texts are empty. */
export interface ProcessIdentity {
  readonly host: string;
  /** Differs between machines with the same host name. */
  readonly machine: string;
  /** Differs between starts of the machine. */
  readonly boot: string;
  /** The process number's namespace, e.g. a container. */
  readonly space: string;
  readonly pid: number;
  /** When it started, in the format of the operating system. */
  readonly startedAt: string;
}

/** The state of a process, seen from another one. */
export type Liveness = 'self' | 'alive' | 'dead' | 'unknown';

/** The processes of a machine. Tests can replace it. */
export interface Processes {
  self(): Promise<ProcessIdentity>;
  /** `unknown` for a process on another machine, or in another container. */
  livenessOf(other: ProcessIdentity): Promise<Liveness>;
  /**
   * The claims of this copy of the library in this thread, oldest first. One of this process that is not in here belongs
   * to another copy or thread, which has its file open; or it is left from a failed release, or from a thread that ended.
   */
  readonly claims: Map<string, OwnClaim>;
  /** Whether any thread of this process has the file with this {@link FileSystem.identity} open. */
  hasOpen(identity: string): Promise<boolean>;
}

export interface OwnClaim {
  /** Aborted once its holder is closing. */
  readonly signal: AbortSignal;
  /** Open until the release; absent before the claim has its name. */
  readonly file?: WritableFile;
}

/** This machine's processes. */
export const nodeProcesses: Processes = {
  self: identifySelf,
  livenessOf: async (other) => judgeLiveness(await identifySelf(), other),
  claims: new Map(),
  hasOpen,
};

/** Threads share their process's descriptors. Those of a thread that ends, however it does, are closed. */
async function hasOpen(identity: string): Promise<boolean> {
  const descriptors = await readdir('/dev/fd').catch(() => undefined);
  // It can't be known, so nothing is taken from anybody.
  if (!descriptors) return true;
  const identities = descriptors.map((name) =>
    promisify(fstat)(Number(name), { bigint: true }).then(identify, () => undefined),
  );
  return (await Promise.all(identities)).includes(identity);
}

async function identifySelf(): Promise<ProcessIdentity> {
  return {
    host: hostname(),
    machine: await readText('/etc/machine-id'),
    boot: await readBootId(),
    space: await readlink('/proc/self/ns/pid').catch(() => ''),
    pid: process.pid,
    startedAt: (await readStatus(process.pid)).startedAt,
  };
}

async function judgeLiveness(self: ProcessIdentity, other: ProcessIdentity): Promise<Liveness> {
  if (other.host !== self.host || differ(other.machine, self.machine)) return 'unknown';
  if (differ(other.boot, self.boot)) return 'dead';
  if (other.space !== self.space) return 'unknown';
  if (!isRunning(other.pid)) return 'dead';
  const { startedAt, isZombie } = await readStatus(other.pid);
  // Killed, but its parent, which may never do so, has not reaped it.
  if (isZombie) return 'dead';
  if (differ(startedAt, other.startedAt)) return 'dead';
  if (startedAt === '' || other.startedAt === '') return 'unknown';
  return other.pid === self.pid ? 'self' : 'alive';
}

export function isProcessIdentity(value: unknown): value is ProcessIdentity {
  if (!isRecord(value) || !isCount(value['pid'])) return false;
  return ['host', 'machine', 'boot', 'space', 'startedAt'].every((name) => typeof value[name] === 'string');
}

function differ(a: string, b: string): boolean {
  return a !== '' && b !== '' && a !== b;
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // It runs, but belongs to another user.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

async function readBootId(): Promise<string> {
  if (process.platform === 'darwin') return readOutput('/usr/sbin/sysctl', ['-n', 'kern.bootsessionuuid']);
  return readText('/proc/sys/kernel/random/boot_id');
}

/** The start time, empty if unknown, and whether the process has ended but is not reaped. */
async function readStatus(pid: number): Promise<{ readonly startedAt: string; readonly isZombie: boolean }> {
  if (process.platform === 'darwin') {
    const line = await readOutput('/bin/ps', ['-o', 'stat=,lstart=', '-p', String(pid)]);
    const [stat = '', ...startedAt] = line.split(/\s+/);
    return { startedAt: startedAt.join(' '), isZombie: stat.startsWith('Z') };
  }
  const stat = await readText(`/proc/${pid}/stat`);
  // Fields 3 and 22 of proc(5): the state, and the start in clock ticks. Field 2 is a name with any characters.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return { startedAt: fields[19] ?? '', isZombie: ['Z', 'X', 'x'].includes(fields[0] ?? '') };
}

async function readText(path: string): Promise<string> {
  return (await readFile(path, 'utf8').catch(() => '')).trim();
}

async function readOutput(command: string, args: readonly string[]): Promise<string> {
  // The output depends on time zone and language, and must be equal in all processes.
  const env = { TZ: 'UTC0', LC_ALL: 'C' };
  return promisify(execFile)(command, [...args], { env }).then(
    ({ stdout }) => stdout.trim(),
    () => '',
  );
}
