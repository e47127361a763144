import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/**
 * Runs a script in a process of its own, so that measurements do not affect each other; returns the JSON that it
 * prints.
 */
export async function measured<R>(script: string, ...args: readonly (string | number)[]): Promise<R> {
  const path = fileURLToPath(new URL(script, import.meta.url));
  const command = [...process.execArgv, '--expose-gc', '--max-old-space-size=3000', path, ...args.map(String)];
  const { stdout } = await promisify(execFile)(process.execPath, command, { cwd: root });
  return JSON.parse(stdout);
}

/** The loader that this process was started with. */
const root = fileURLToPath(new URL('../..', import.meta.url));
