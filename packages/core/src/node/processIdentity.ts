import { execFile } from 'node:child_process';
import { readFile, readlink } from 'node:fs/promises';
import { hostname } from 'node:os';
import { promisify } from 'node:util';
import { isCount, isRecord } from '../values.js';

/** What tells a process from every other one that is, was or will be. A process number alone is used again. Texts are empty where unknown. */
export interface ProcessIdentity {
  readonly host: string;
  /** Tells two machines apart that have the same name. */
  readonly machine: string;
  /** Differs from one start of the machine to the next. */
  readonly boot: string;
  /** What the process number counts in: containers count by themselves. */
  readonly space: string;
  readonly pid: number;
  /** When the process began, as its system says it. */
  readonly startedAt: string;
}

/** What can be said of a process, seen from another one. */
export type Liveness = 'self' | 'alive' | 'dead' | 'unknown';

/** Who runs. A test can stand in for it. */
export interface Processes {
  self(): Promise<ProcessIdentity>;
  /** `unknown` for one on another machine, or in another container. */
  livenessOf(other: ProcessIdentity): Promise<Liveness>;
  /**
   * Names that this process has claimed and not given back, the oldest first, each with what is aborted once its holder is closing. One
   * that it does not know is left from a release that failed.
   */
  readonly claims: Map<string, AbortSignal>;
}

/** The processes of this machine. What this one has claimed is known to all of it, whoever claimed it. */
export const nodeProcesses: Processes = {
  self: thisProcess,
  livenessOf: async (other) => livenessSeenFrom(await thisProcess(), other),
  claims: new Map(),
};

async function thisProcess(): Promise<ProcessIdentity> {
  return {
    host: hostname(),
    machine: await textOf('/etc/machine-id'),
    boot: await bootId(),
    space: await readlink('/proc/self/ns/pid').catch(() => ''),
    pid: process.pid,
    startedAt: (await statusOf(process.pid)).startedAt,
  };
}

async function livenessSeenFrom(self: ProcessIdentity, other: ProcessIdentity): Promise<Liveness> {
  if (other.host !== self.host || differ(other.machine, self.machine)) return 'unknown';
  if (differ(other.boot, self.boot)) return 'dead';
  if (other.space !== self.space) return 'unknown';
  if (!isRunning(other.pid)) return 'dead';
  const { startedAt, isZombie } = await statusOf(other.pid);
  // Killed, and not yet fetched by its parent, which may never do so.
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
    // A process of somebody else may not be signalled, and runs all the same.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

async function bootId(): Promise<string> {
  if (process.platform === 'darwin') return outputOf('/usr/sbin/sysctl', ['-n', 'kern.bootsessionuuid']);
  return textOf('/proc/sys/kernel/random/boot_id');
}

/** When a process began, empty if that can't be known, and whether it has ended without anybody having asked how. */
async function statusOf(pid: number): Promise<{ readonly startedAt: string; readonly isZombie: boolean }> {
  if (process.platform === 'darwin') {
    const line = await outputOf('/bin/ps', ['-o', 'stat=,lstart=', '-p', String(pid)]);
    const [stat = '', ...startedAt] = line.split(/\s+/);
    return { startedAt: startedAt.join(' '), isZombie: stat.startsWith('Z') };
  }
  const stat = await textOf(`/proc/${pid}/stat`);
  // Fields 3 and 22 of proc(5): the state, and clock ticks since the machine's start. The second is a name that may hold anything.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return { startedAt: fields[19] ?? '', isZombie: ['Z', 'X', 'x'].includes(fields[0] ?? '') };
}

async function textOf(path: string): Promise<string> {
  return (await readFile(path, 'utf8').catch(() => '')).trim();
}

async function outputOf(command: string, args: readonly string[]): Promise<string> {
  // Times are told in the zone and the words of whoever asks: two processes must get the same.
  const env = { TZ: 'UTC0', LC_ALL: 'C' };
  return promisify(execFile)(command, [...args], { env }).then(
    ({ stdout }) => stdout.trim(),
    () => '',
  );
}
