import { isRecord } from '../values.js';
import { parseExactly } from './exactNumbers.js';

/** Fields of a document that are texts, numbers, booleans or `null`. */
export type OuterFields = Readonly<Record<string, unknown>>;

/** Characters at each end of a document in which fields are searched for: a cursor may be long. */
export const outerLength = 4_096;

const text = String.raw`"(?:[^"\\\x00-\x1f\x7f-\uffff]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"`;
const value = String.raw`(${text}|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)`;
const field = String.raw`"([\w$-]+)"[ \t\r\n]*:[ \t\r\n]*${value}[ \t\r\n]*`;
const first = new RegExp(String.raw`^[ \t\r\n]*\{[ \t\r\n]*${field},`);
const next = new RegExp(String.raw`^[ \t\r\n]*${field},`);
const last = new RegExp(String.raw`,[ \t\r\n]*${field}\}[ \t\r\n]*$`);
const previous = new RegExp(String.raw`,[ \t\r\n]*${field}$`);

/**
 * The outermost fields of a JSON object before its first list or object, and those after its last one. If the document is
 * valid, they are what `parseExactly` would return for it, unless one of the names is there once more in between.
 *
 * A walk needs no more to request the next page, so the API works while this one is parsed.
 *
 * @param head the beginning of the document
 * @param tail its end
 * @example outerFields('{"cursor":"b","result":[{', '}],"hasNextPage":true}') // { cursor: 'b', hasNextPage: true }
 */
export function outerFields(head: string, tail: string): OuterFields {
  const found: string[] = [];
  const add = ([, name = '', json = 'null']: RegExpExecArray): void => {
    if (name !== '__proto__') found.push(`"${name}":${json}`);
  };
  let rest = head;
  for (let match = first.exec(rest); match; match = next.exec(rest)) {
    add(match);
    rest = rest.slice(match[0].length);
  }
  // Only a list makes a document long. If the bracket is one of a text, the fields before it are not found.
  rest = tail.slice(Math.max(0, tail.lastIndexOf(']')));
  const after: RegExpExecArray[] = [];
  for (let match = last.exec(rest); match; match = previous.exec(rest)) {
    after.push(match);
    rest = rest.slice(0, match.index);
  }
  for (const match of after.reverse()) add(match);
  // In their order, since of repeated names the last one counts.
  const fields = parseExactly(`{${found.join(',')}}`);
  return isRecord(fields) ? fields : {};
}
