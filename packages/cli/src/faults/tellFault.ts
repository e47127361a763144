import type { Environment } from '../environment.js';
import { visibleText } from '../terminal/visibleText.js';
import { isClosedOutput } from './closedOutput.js';
import { exitCodeOf } from './exitCodeOf.js';
import { faultSentence } from './faultSentence.js';
import { scrubbed } from './scrubbed.js';
import { ToldFault } from './toldFault.js';

/** Tells on stderr what ended a command, and answers the exit code. The stack is shown with `SLUICE_DEBUG=1` only. */
export function tellFault(error: unknown, { stderr, variables, secrets }: Environment): number {
  if (error instanceof ToldFault) return error.exitCode;
  if (!isClosedOutput(error)) stderr.tell(`sluice: ${visibleText(scrubbed(faultSentence(error), secrets))}\n`);
  if (variables['SLUICE_DEBUG'] === '1' && error instanceof Error)
    stderr.tell(`${scrubbed(error.stack ?? error.message, secrets)}\n`);
  return exitCodeOf(error);
}
