import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** What a process cost, from its start to its end, as whoever started it sees it. */
export interface Whole {
  readonly ms: number;
  /** Ms of CPU of all threads. */
  readonly cpu: number;
  /** Bytes of memory at its highest, as the kernel counts them; 0 where it does not tell. */
  readonly peakRss: number;
}

/** Ms between looks at the memory, which only grows: the last look misses what the end of the process adds. */
const lookEvery = 20;

/** Runs a program of Node to its end. @throws Error if it fails */
export function wholeProcess(args: readonly string[], env: NodeJS.ProcessEnv): Promise<Whole> {
  return new Promise((resolve, reject) => {
    const began = performance.now();
    const timed = ['-c', 'TIMEFORMAT="%U %S"; time "$@"', 'bash', process.execPath, ...args];
    const child = spawn('bash', timed, { env, stdio: ['ignore', 'ignore', 'pipe'] });
    const pid = child.pid ?? 0;
    let said = '';
    let peakRss = 0;
    child.stderr.on('data', (data: Buffer) => (said += data.toString()));
    const looking = setInterval(() => (peakRss = Math.max(peakRss, memoryBelow(pid))), lookEvery);
    child.once('error', reject);
    child.once('close', (code) => {
      clearInterval(looking);
      const [, user = NaN, system = NaN] = /(\d+\.\d+) (\d+\.\d+)\s*$/.exec(said)?.map(Number) ?? [];
      if (code === 0) resolve({ ms: performance.now() - began, cpu: 1_000 * (user + system), peakRss });
      else reject(new Error(`${args.join(' ')} ended with ${String(code)}: ${said}`));
    });
  });
}

/** The peak of the processes that a shell has started. */
function memoryBelow(shell: number): number {
  try {
    const children = readFileSync(`/proc/${shell}/task/${shell}/children`, 'utf8').trim().split(' ').filter(Boolean);
    const peaks = children.map((child) => /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${child}/status`, 'utf8'))?.[1]);
    return Math.max(0, ...peaks.map((kilobytes) => 1_024 * Number(kilobytes ?? 0)));
  } catch {
    // It has just ended, or this is no Linux.
    return 0;
  }
}
