import type { Environment } from '../environment.js';
import { visibleText } from '../terminal/visibleText.js';
import { isClosedOutput } from './closedOutput.js';
import { exitCodeOf } from './exitCodeOf.js';
import { faultSentence } from './faultSentence.js';
import { scrubbed, scrubberOf } from './scrubbed.js';
import { ToldFault } from './toldFault.js';
import { UnfinishedExport } from './unfinishedExport.js';

/** Some errors are the cause of themselves. */
const mostCauses = 5;

/** Tells on stderr what ended a command, and answers the exit code. The stack is shown with `SLUICE_DEBUG=1` only. */
export function tellFault(error: unknown, { stderr, variables, secrets }: Environment): number {
  if (error instanceof ToldFault) return error.exitCode;
  const { cause, aftermath } = error instanceof UnfinishedExport ? error : { cause: error };
  if (!isClosedOutput(cause)) stderr.tell(`sluice: ${visibleText(scrubberOf(cause)(faultSentence(error), secrets))}\n`);
  // On a line of its own, so that it can be copied.
  if (aftermath?.command !== undefined) stderr.tell(`  ${scrubbed(aftermath.command, secrets)}\n`);
  if (variables['SLUICE_DEBUG'] === '1')
    for (
      let thrown = cause, depth = 0;
      thrown instanceof Error && depth < mostCauses;
      thrown = thrown.cause, depth += 1
    )
      stderr.tell(`${scrubbed(thrown.stack ?? thrown.message, secrets)}\n`);
  return exitCodeOf(error);
}
