import { DecodeError, SluiceError } from '../errors.js';

/**
 * What a poll failed with. Whoever goes through a row that is nested absurdly deeply runs out of stack: that is the API's doing, and no
 * fault of the program.
 */
export function pollFault(error: unknown): unknown {
  if (!(error instanceof RangeError && error.message === 'Maximum call stack size exceeded')) return error;
  return new DecodeError("A row is nested too deeply to be gone through. Tell the API's operator.");
}

/** What will not be better next time. Right at the beginning, that includes a request which the API does not take. */
export function isFatal(error: unknown, isFirst: boolean): boolean {
  if (!SluiceError.is(error)) return true;
  if (['config', 'checkpoint', 'lock', 'plugin', 'sink'].includes(error.code)) return true;
  return isFirst && error.code === 'http' && [400, 401, 403].includes(Number(error.details['status']));
}
