import type { Environment } from '../environment.js';
import { isClosedOutput } from '../faults/closedOutput.js';
import { exitCodeOf } from '../faults/exitCodeOf.js';
import { faultSentence } from '../faults/faultSentence.js';
import { Interruption } from '../faults/interruption.js';
import { scrubbed, scrubberOf } from '../faults/scrubbed.js';
import { ToldFault } from '../faults/toldFault.js';
import { UnfinishedExport, type Aftermath } from '../faults/unfinishedExport.js';
import type { Reporter } from '../terminal/reporter.js';

/** An end before the end, and what it leaves behind, if there is something to say of that. */
export interface EarlyEnd {
  readonly fault: unknown;
  readonly aftermath: Aftermath | undefined;
}

/** Tells an early end as an event, if that is how it goes; else leaves the telling to whoever catches the fault. It always throws. */
export function endEarly(
  { fault, aftermath: consequences }: EarlyEnd,
  reporter: Pick<Reporter, 'ended'>,
  { secrets }: Pick<Environment, 'secrets'>,
): never {
  const kind = fault instanceof Interruption || isClosedOutput(fault) ? 'stopped' : 'failed';
  const exitCode = exitCodeOf(fault);
  const aftermath = isClosedOutput(fault) ? undefined : consequences;
  const whole = aftermath ? new UnfinishedExport(fault, aftermath) : fault;
  const { command, keptRows } = aftermath ?? {};
  const message = faultSentence(whole) + (command === undefined ? '' : ` ${command}`);
  const isTold = reporter.ended({
    kind,
    message: scrubberOf(fault)(message, secrets),
    exitCode,
    ...(keptRows !== undefined && { keptRows }),
    ...(command !== undefined && { resume: scrubbed(command, secrets) }),
  });
  throw isTold ? new ToldFault(exitCode) : whole;
}
