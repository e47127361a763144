import { SinkError } from '@sluice/core';

/** `JSON.stringify` that always returns text. @throws SinkError if the value has no JSON (a BigInt, a cycle). */
export function toJson(value: object, replacer?: (name: string, value: unknown) => unknown): string {
  let reason = 'it has no form in JSON';
  try {
    // Despite its type, `stringify` returns `undefined` if `toJSON` returns, for example, a function.
    const json: unknown = JSON.stringify(value, replacer);
    if (typeof json === 'string') return json;
  } catch (error) {
    if (error instanceof Error) reason = error.message;
  }
  throw new SinkError(`A row can't be written as JSON: ${reason}. Turn its values into text with pipePages(map(…)).`);
}
