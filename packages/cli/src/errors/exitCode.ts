import { SluiceError } from '@sluice/core';
import type { SinkReport } from '@sluice/core/kit';
import { EarlyEnd, exitCodes, Interruption, UsageError } from './errors.js';
import { codeOf } from './thrown.js';

/** The exit code for the error that ended a command. */
export function chooseExitCode(error: unknown): number {
  if (error instanceof EarlyEnd) return chooseExitCode(error.cause);
  if (error instanceof Interruption) return error.exitCode;
  if (error instanceof UsageError || SluiceError.is(error, 'config')) return exitCodes.wrongUsage;
  // Without a cause, the plugin itself is unsuitable; with a cause, its code failed.
  if (SluiceError.is(error, 'plugin') && error.cause === undefined) return exitCodes.wrongUsage;
  return isClosedOutput(error) ? exitCodes.closedOutput : exitCodes.failed;
}

/** Whether an error means that the reader closed our output, like `head`. */
export function isClosedOutput(error: unknown): boolean {
  if (SluiceError.is(error)) return error.code === 'sink' && error.details['platformCode'] === 'EPIPE';
  return error instanceof Error && codeOf(error) === 'EPIPE' && !('address' in error);
}

/** The exit code of a completed export. */
export function exitCodeAfter({ deadLetters }: Pick<SinkReport, 'deadLetters'>): number {
  return deadLetters ? exitCodes.deadLetters : exitCodes.done;
}
