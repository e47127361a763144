import { SluiceError } from '@sluice/core';
import type { ReplayCounts } from '@sluice/exporters/webhook';
import { neededAgain } from '../export/neededAgain.js';
import type { ResumeCommands } from '../export/resumption.js';
import { Interruption } from '../faults/interruption.js';
import type { Aftermath } from '../faults/unfinishedExport.js';
import { formatCount } from '../terminal/formatNumber.js';

/** What an early end leaves of a replay; `undefined` if the fault says it all. */
export function replayAftermath(
  fault: unknown,
  counts: ReplayCounts | undefined,
  commands: Omit<ResumeCommands, 'isRestart'>,
): Aftermath | undefined {
  const { replayed = 0 } = counts ?? {};
  const kept =
    replayed === 0
      ? 'No dead letter is lost'
      : `${formatCount(replayed, 'dead letter is', 'dead letters are')} replayed, and none is lost`;
  if (fault instanceof Interruption)
    return { consequence: `${kept}. ${neededAgain(commands)}Go on with:`, command: commands.goOn };
  if (SluiceError.is(fault) && ['config', 'checkpoint', 'lock', 'sink'].includes(fault.code)) return undefined;
  return { consequence: `${kept}: the same command goes on.` };
}
