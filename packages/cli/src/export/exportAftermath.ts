import { SluiceError, type ExportProgress } from '@sluice/core';
import { Interruption } from '../faults/interruption.js';
import type { Aftermath } from '../faults/unfinishedExport.js';
import type { Forwarding } from '../forward/forwarding.js';
import { setAside } from '../forward/deadLetterSentences.js';
import { ownState } from '../target/ownState.js';
import { formatCount } from '../terminal/formatNumber.js';
import { aftermathOf } from './aftermath.js';
import { wordsOf } from './remainsWords.js';
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
  /** Of an endpoint. */
  readonly forwarding?: Forwarding | undefined;
}

/** What an early end leaves of an export, wherever it went; `undefined` if the fault says it all. */
export function exportAftermath({ fault, target, latest, resuming, forwarding }: UnfinishedRun): Aftermath | undefined {
  if (resuming) {
    const { state, kind, commands } = resuming;
    const words = wordsOf[forwarding ? 'endpoint' : kind];
    const left = aftermathOf({ fault, hasBegun: latest !== undefined, remains: state.remains, commands, words });
    const needed = ownState(fault, forwarding ? 'endpoint' : kind);
    if (forwarding) return afterForward(fault, left, forwarding, needed);
    return needed === undefined
      ? left
      : { ...left, consequence: [needed, ...(left ? [left.consequence] : [])].join(' ') };
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

/** An endpoint gives no rows back, and keeps what it did not take out of sight. */
function afterForward(
  fault: unknown,
  left: Aftermath | undefined,
  { tally, deadLetters }: Forwarding,
  needed: string | undefined,
): Aftermath | undefined {
  const told = [
    ...(SluiceError.is(fault, 'cursor-refused')
      ? ["A service can't give a part back, so --restart is left: what it has got comes again with the same ids."]
      : []),
    ...(needed === undefined ? [] : [needed]),
    ...(tally.deadLetters > 0 ? [setAside(tally.deadLetters, deadLetters)] : []),
    ...(left ? [left.consequence] : []),
  ];
  return told.length === 0 ? undefined : { ...left, consequence: told.join(' ') };
}
