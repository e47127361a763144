import { SluiceError, type ExportProgress } from '@sluice/core';
import { Interruption } from '../faults/interruption.js';
import type { Aftermath } from '../faults/unfinishedExport.js';
import { formatCount } from '../terminal/formatNumber.js';
import { aftermathOf } from './aftermath.js';
import type { Resuming } from './resumption.js';
import { standardOutputName } from './rowSink.js';

/** How far an export came before it ended early. */
export interface UnfinishedRun {
  readonly fault: unknown;
  /** What people call the target. */
  readonly target: string;
  /** Absent where it was refused, or stopped before it had begun. */
  readonly latest: ExportProgress | undefined;
  /** Absent where nothing can be gone on with. */
  readonly resuming: Resuming | undefined;
}

/** What an early end leaves of an export, wherever it went; `undefined` if the fault says it all. */
export function exportAftermath({ fault, target, latest, resuming }: UnfinishedRun): Aftermath | undefined {
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
