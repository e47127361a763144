import { UsageError } from '../faults/usageError.js';

/**
 * Names with their shares of all requests. Whether the names exist is checked where they are used.
 *
 * @throws UsageError unless each is a name, `=` and a number from 0 to 1.
 * @example parseShares('serverError=0.05,reset=0.01') // { serverError: 0.05, reset: 0.01 }
 */
export function parseShares(text: string): Readonly<Record<string, number>> {
  return Object.fromEntries(
    text.split(',').map((item) => {
      const [, name, share] = /^\s*([a-z]+)=(0|1|[01]?\.\d+)\s*$/i.exec(item) ?? [];
      if (name === undefined || !(Number(share) <= 1))
        throw new UsageError('Give names with shares from 0 to 1, like serverError=0.05,reset=0.01.');
      return [name, Number(share)];
    }),
  );
}
