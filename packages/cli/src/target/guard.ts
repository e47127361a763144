import { SluiceError } from '@sluice/core';
import { thrownText } from '../faults/thrownText.js';

/** Calls code of a plugin's. */
export type Guard = <R>(call: () => R | Promise<R>) => Promise<R>;

/**
 * Calls code of a plugin's so that whatever it throws says whose fault it is. Errors of Sluice's are passed on, and all that it throws once
 * it was told to stop: that is the answer to the signal.
 *
 * @param what begins the sentence, e.g. `The sink "sqlite"`.
 * @param errorOf makes the error of the whole sentence and what was thrown.
 */
export function guardOf(
  what: string,
  signal: AbortSignal,
  errorOf: (message: string, options: { readonly cause: unknown }) => Error,
): Guard {
  return async (call) => {
    try {
      return await call();
    } catch (cause) {
      if (SluiceError.is(cause) || signal.aborted) throw cause;
      throw errorOf(`${what} failed: ${thrownText(cause)}`, { cause });
    }
  };
}
