import { SluiceError } from '@sluice/core';
import { isClosedOutput } from './closedOutput.js';
import { exitCodes } from './exitCodes.js';
import { Interruption } from './interruption.js';
import { UnfinishedExport } from './unfinishedExport.js';
import { UsageError } from './usageError.js';

/** The exit code of what ended a command. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof UnfinishedExport) return exitCodeOf(error.cause);
  if (error instanceof Interruption) return error.exitCode;
  if (error instanceof UsageError || SluiceError.is(error, 'config')) return exitCodes.wrongUsage;
  // It does not fit in. One with a cause did, and failed.
  if (SluiceError.is(error, 'plugin') && error.cause === undefined) return exitCodes.wrongUsage;
  return isClosedOutput(error) ? exitCodes.closedOutput : exitCodes.failed;
}
