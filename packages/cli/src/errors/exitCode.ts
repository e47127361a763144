import { type SinkReport, SluiceError } from '@sluice/core';
import { exitCodes, Interruption, UnfinishedExport, UsageError } from './errors.js';

/** The exit code of what ended a command. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof UnfinishedExport) return exitCodeOf(error.cause);
  if (error instanceof Interruption) return error.exitCode;
  if (error instanceof UsageError || SluiceError.is(error, 'config')) return exitCodes.wrongUsage;
  // It does not fit in. One with a cause did, and failed.
  if (SluiceError.is(error, 'plugin') && error.cause === undefined) return exitCodes.wrongUsage;
  return isClosedOutput(error) ? exitCodes.closedOutput : exitCodes.failed;
}

/** Whether an error says that the reader of our output went away, like `head` when it has seen enough. */
export function isClosedOutput(error: unknown): boolean {
  if (SluiceError.is(error)) return error.code === 'sink' && error.details['platformCode'] === 'EPIPE';
  return error instanceof Error && 'code' in error && error.code === 'EPIPE' && !('address' in error);
}

/** The exit code of an export that came to its end. */
export function exitCodeAfter({ deadLetters }: Pick<SinkReport, 'deadLetters'>): number {
  return deadLetters ? exitCodes.deadLetters : exitCodes.done;
}
