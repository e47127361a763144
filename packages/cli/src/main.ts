import type { Environment } from './environment.js';
import { runProgram } from './program.js';

/** Runs one command line, tells its fault in a sentence, and answers the exit code. It never throws. */
export async function main(args: readonly string[], environment: Environment): Promise<number> {
  try {
    return await runProgram(args, environment);
  } catch (error) {
    // Only a command that failed pays for loading this.
    const { tellFault } = await import('./faults/tellFault.js');
    return tellFault(error, environment);
  }
}
