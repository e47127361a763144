import { spawn } from 'node:child_process';
import { onTestEnd } from '../scripts/testScope.js';

/** Runs a script in a process of its own, with `PATH` and `env` as its environment. The process ends with the test. */
export function run(
  args: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv,
): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, {
      cwd,
      env: { PATH: process.env['PATH'], ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    onTestEnd(() => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      console.error(`It was still running, and had printed:\n${output}`);
      child.kill('SIGKILL');
    });
    child.stdout.on('data', (data: Buffer) => (output += data.toString()));
    child.stderr.on('data', (data: Buffer) => (output += data.toString()));
    child.on('error', reject);
    child.on('close', (code) => {
      resolve({ code, output });
    });
  });
}
