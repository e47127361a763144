import { SluiceError } from '@sluice/core';

/** Whether an error says that the reader of our output went away, like `head` when it has seen enough. */
export function isClosedOutput(error: unknown): boolean {
  if (SluiceError.is(error)) return error.code === 'sink' && error.details['platformCode'] === 'EPIPE';
  return error instanceof Error && 'code' in error && error.code === 'EPIPE' && !('address' in error);
}
