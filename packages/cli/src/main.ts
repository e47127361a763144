import { type Environment, processEnvironment } from './environment/environment.js';
import { runProgram } from './program.js';

/** Runs one command line, tells its fault in a sentence, and answers the exit code. It never throws. */
export async function main(args: readonly string[], environment: Environment): Promise<number> {
  try {
    return await runProgram(args, environment);
  } catch (error) {
    // Only a command that failed pays for loading this.
    const { reportError } = await import('./reportError.js');
    return reportError(error, environment);
  }
}

/** Runs the command line of a process, and ends it. */
export async function runProcess(process: NodeJS.Process): Promise<void> {
  const environment = processEnvironment(process);
  process.exitCode = await main(process.argv.slice(2), environment);
  // What was on its way to stdout would keep the process alive until somebody reads it. Only what stderr says is still waited for.
  if (environment.signal.aborted) process.stderr.write('', () => process.exit());
  // What a plugin has left open would keep it alive for ever.
  else process.stdout.write('', () => process.stderr.write('', () => process.exit()));
}
