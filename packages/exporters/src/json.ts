import { SinkError } from '@sluice/core';

/**
 * A value as JSON.
 *
 * @param replacer as for `JSON.stringify`.
 * @throws SinkError if it has none (a BigInt, a circle).
 */
export function jsonOf(value: object, replacer?: (name: string, value: unknown) => unknown): string {
  let reason = 'it has no JSON';
  try {
    // Its type promises text, but what `toJSON` answers may have none.
    const json: unknown = JSON.stringify(value, replacer);
    if (typeof json === 'string') return json;
  } catch (error) {
    if (error instanceof Error) reason = error.message;
  }
  throw new SinkError(`A row can't be written as JSON: ${reason}. Turn its values into text with pipePages(map(…)).`);
}
