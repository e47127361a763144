import { SluiceError, type ExportProgress } from '@sluice/core';
import type { Environment } from '../environment.js';
import { isClosedOutput } from '../faults/closedOutput.js';
import { exitCodeOf } from '../faults/exitCodeOf.js';
import { faultSentence } from '../faults/faultSentence.js';
import { Interruption } from '../faults/interruption.js';
import { scrubbed } from '../faults/scrubbed.js';
import { ToldFault } from '../faults/toldFault.js';
import { UnfinishedExport, type Aftermath } from '../faults/unfinishedExport.js';
import { formatCount } from '../terminal/formatNumber.js';
import type { Reporter } from '../terminal/reporter.js';
import { aftermathOf } from './aftermath.js';
import type { Resuming } from './resumption.js';
import { standardOutputName } from './rowSink.js';

/** How far an export came before it ended early. */
export interface EarlyEnd {
  readonly fault: unknown;
  /** What people call the target. */
  readonly target: string;
  /** Absent where it was refused, or stopped before it had begun. */
  readonly latest: ExportProgress | undefined;
  /** Absent where nothing can be gone on with. */
  readonly resuming: Resuming | undefined;
}

/** Tells an early end as an event, if that is how it goes; else leaves the telling to whoever catches the fault. It always throws. */
export function endEarly(end: EarlyEnd, reporter: Reporter, { secrets }: Pick<Environment, 'secrets'>): never {
  const { fault } = end;
  const kind = fault instanceof Interruption || isClosedOutput(fault) ? 'stopped' : 'failed';
  const exitCode = exitCodeOf(fault);
  const aftermath = isClosedOutput(fault) ? undefined : consequencesOf(end);
  const whole = aftermath ? new UnfinishedExport(fault, aftermath) : fault;
  const { command, keptRows } = aftermath ?? {};
  const message = faultSentence(whole) + (command === undefined ? '' : ` ${command}`);
  const isTold = reporter.ended({
    kind,
    message: scrubbed(message, secrets),
    exitCode,
    ...(keptRows !== undefined && { keptRows }),
    ...(command !== undefined && { resume: scrubbed(command, secrets) }),
  });
  throw isTold ? new ToldFault(exitCode) : whole;
}

function consequencesOf({ fault, target, latest, resuming }: EarlyEnd): Aftermath | undefined {
  if (resuming) {
    const { state, commands } = resuming;
    return aftermathOf({ fault, hasBegun: latest !== undefined, remains: state.remains, commands });
  }
  if (SluiceError.is(fault, 'cursor-refused') && target === standardOutputName)
    return { consequence: 'Both need a file (--to FILE); to stdout, run it again.' };
  if (!(fault instanceof Interruption)) return undefined;
  const came = formatCount(latest?.rows ?? 0, 'row');
  return {
    consequence:
      target === standardOutputName
        ? `The output ends early, after ${came}.`
        : `${came} had come; nothing was left half-written. Run the same command again to start over.`,
  };
}
