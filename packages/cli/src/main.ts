import { type Environment, processEnvironment } from './environment/environment.js';
import { ToldFault, UnfinishedExport } from './errors/errors.js';
import { exitCodeOf, isClosedOutput } from './errors/exitCode.js';
import { faultSentence } from './errors/formatError.js';
import { scrubbed, scrubberOf } from './errors/redact.js';
import { runProgram } from './program.js';
import { visibleText } from './terminal/text.js';

/** Runs one command line, tells its fault in a sentence, and answers the exit code. It never throws. */
export async function main(args: readonly string[], environment: Environment): Promise<number> {
  try {
    return await runProgram(args, environment);
  } catch (error) {
    return tellFault(error, environment);
  }
}

/** Some errors are the cause of themselves. */
const maxCauses = 5;

/** Tells on stderr what ended a command, and answers the exit code. The stack is shown with `SLUICE_DEBUG=1` only. */
export function tellFault(error: unknown, { stderr, variables, secrets }: Environment): number {
  if (error instanceof ToldFault) return error.exitCode;
  const { cause, interruptionReport } = error instanceof UnfinishedExport ? error : { cause: error };
  if (!isClosedOutput(cause)) stderr.tell(`sluice: ${visibleText(scrubberOf(cause)(faultSentence(error), secrets))}\n`);
  // On a line of its own, so that it can be copied.
  if (interruptionReport?.command !== undefined) stderr.tell(`  ${scrubbed(interruptionReport.command, secrets)}\n`);
  if (variables['SLUICE_DEBUG'] === '1')
    for (let thrown = cause, depth = 0; thrown instanceof Error && depth < maxCauses; thrown = thrown.cause, depth += 1)
      stderr.tell(`${scrubbed(thrown.stack ?? thrown.message, secrets)}\n`);
  return exitCodeOf(error);
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
