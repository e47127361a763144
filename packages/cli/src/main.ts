import { type Environment, processEnvironment } from './environment/environment.js';
import { runProgram } from './program.js';

/** Runs one command line, prints its error as a sentence, and returns the exit code. Never throws. */
export async function main(args: readonly string[], environment: Environment): Promise<number> {
  try {
    return await runProgram(args, environment);
  } catch (error) {
    // Loaded only after a failure.
    const { reportError } = await import('./reportError.js');
    return reportError(error, environment, args);
  }
}

/** Runs the command line of a process, and exits. */
export async function runProcess(process: NodeJS.Process): Promise<void> {
  const environment = processEnvironment(process);
  process.exitCode = await main(process.argv.slice(2), environment);
  // After a signal, flush stderr only: pending output on stdout would keep the process alive until somebody reads it.
  if (environment.signal.aborted) process.stderr.write('', () => process.exit());
  // Exit explicitly: a handle that a plugin has left open would keep the process alive.
  else process.stdout.write('', () => process.stderr.write('', () => process.exit()));
}
