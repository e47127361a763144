import type { Environment } from './environment/environment.js';
import { EarlyEnd } from './errors/errors.js';
import { chooseExitCode, isClosedOutput } from './errors/exitCode.js';
import { errorSentence } from './options/formatError.js';
import { redact, redactorFor } from './errors/redact.js';
import { visibleText } from './terminal/text.js';

/** Limits the loop below: some errors are their own cause. */
const maxCauses = 5;

/** Prints the error that ended a command to stderr, with its stack if `SLUICE_DEBUG=1`, and returns the exit code. */
export function reportError(error: unknown, { stderr, variables, secrets, hasFlag }: Environment): number {
  if (error instanceof EarlyEnd && error.isReported) return chooseExitCode(error);
  const { cause, interruptionReport } = error instanceof EarlyEnd ? error : { cause: error };
  if (!isClosedOutput(cause))
    stderr.print(`sluice: ${visibleText(redactorFor(cause)(errorSentence(error, hasFlag), secrets))}\n`);
  // On a separate line, so that it can be copied.
  if (interruptionReport?.command !== undefined) stderr.print(`  ${redact(interruptionReport.command, secrets)}\n`);
  if (variables['SLUICE_DEBUG'] === '1')
    for (let thrown = cause, depth = 0; thrown instanceof Error && depth < maxCauses; thrown = thrown.cause, depth += 1)
      stderr.print(`${redact(thrown.stack ?? thrown.message, secrets)}\n`);
  return chooseExitCode(error);
}
