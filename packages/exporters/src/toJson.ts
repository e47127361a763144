import { SinkError } from '@sluice/core';

/** Characters that JSON does not escape, and that some readers take for line ends: NEL, and the separators of Unicode. */
const lineEnds = /[\u0085\u2028\u2029]/g;

/** JSON in which the only line ends are those that a reader of lines is to see. */
export function escapeLineEnds(json: string): string {
  return json.replace(lineEnds, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

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
