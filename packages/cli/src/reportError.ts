import type { Environment } from './environment/environment.js';
import { ReportedError, UnfinishedExport } from './errors/errors.js';
import { exitCodeOf, isClosedOutput } from './errors/exitCode.js';
import { errorSentence } from './errors/formatError.js';
import { scrubbed, scrubberOf } from './errors/redact.js';
import { visibleText } from './terminal/text.js';

/** Some errors are the cause of themselves. */
const maxCauses = 5;

/** Tells on stderr what ended a command, and answers the exit code. The stack is shown with `SLUICE_DEBUG=1` only. */
export function reportError(error: unknown, { stderr, variables, secrets }: Environment): number {
  if (error instanceof ReportedError) return error.exitCode;
  const { cause, interruptionReport } = error instanceof UnfinishedExport ? error : { cause: error };
  if (!isClosedOutput(cause)) stderr.tell(`sluice: ${visibleText(scrubberOf(cause)(errorSentence(error), secrets))}\n`);
  // On a line of its own, so that it can be copied.
  if (interruptionReport?.command !== undefined) stderr.tell(`  ${scrubbed(interruptionReport.command, secrets)}\n`);
  if (variables['SLUICE_DEBUG'] === '1')
    for (let thrown = cause, depth = 0; thrown instanceof Error && depth < maxCauses; thrown = thrown.cause, depth += 1)
      stderr.tell(`${scrubbed(thrown.stack ?? thrown.message, secrets)}\n`);
  return exitCodeOf(error);
}
