import { processEnvironment } from './environment.js';
import { main } from './main.js';

/** Runs the command line of a process, and ends it. */
export async function runProcess(process: NodeJS.Process): Promise<void> {
  const environment = processEnvironment(process);
  process.exitCode = await main(process.argv.slice(2), environment);
  // What was on its way to stdout would keep the process alive until somebody reads it. Only what stderr says is still waited for.
  if (environment.signal.aborted) process.stderr.write('', () => process.exit());
  // What a plugin has left open would keep it alive for ever.
  else process.stdout.write('', () => process.stderr.write('', () => process.exit()));
}
