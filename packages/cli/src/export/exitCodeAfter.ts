import type { SinkReport } from '@sluice/core';
import { exitCodes } from '../faults/exitCodes.js';

/** The exit code of an export that came to its end. */
export function exitCodeAfter({ deadLetters }: Pick<SinkReport, 'deadLetters'>): number {
  return deadLetters ? exitCodes.deadLetters : exitCodes.done;
}
