import { type ChildProcess, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** Namespaces of its own for users, processes, mounts and host names. The network is that of the machine. */
const namespaces = ['unshare', '-Urpmu', '--fork', '--kill-child', '--mount-proc'];

/**
 * The command line that runs a program as a container does: it has another user, is process 1, and its host has this name. It ends
 * with its program, and the program with it.
 */
export function inContainer(host: string, program: readonly string[], before = ''): string[] {
  return [...namespaces, 'sh', '-c', `hostname "$0" && ${before} exec "$@"`, host, ...program];
}

/** The number by which this machine knows the program of a container, for signals. @throws if it has ended */
export function programIn({ pid }: Pick<ChildProcess, 'pid'>): number {
  const program = Number.parseInt(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8'), 10);
  // 0 would signal the caller's own group.
  if (!(program > 0)) throw new Error(`The container of process ${pid} runs nothing.`);
  return program;
}

/** Whether this machine lets this user make them. */
export const hasContainers = ((): boolean => {
  const [program = '', ...args] = inContainer('probe', ['true']);
  return process.platform === 'linux' && spawnSync(program, args).status === 0;
})();
