import { expect } from 'vitest';
import { DecodeError } from '../../src/index.js';

/** A row of either: a stream is told by its id, a holding by its owner. */
const one = { id: 'a', owner_address: '0x1', name: 'one' };
const other = { id: 'b', owner_address: '0x2', name: 'other' };

/** Shapes in which the APIs of streams and of Aptos have both been seen to send a page's rows: name, document, rows. */
export const resultShapes: readonly (readonly [shape: string, text: string, rows: readonly object[]])[] = [
  ['a list', JSON.stringify({ result: [one, other] }), [one, other]],
  ['an empty list', '{"result":[]}', []],
  ['a single record', JSON.stringify({ result: one }), [one]],
  ['null', '{"result":null}', []],
  ['absent', '{}', []],
];

/** What is a page of neither, and where it shows. */
export const brokenResults: readonly (readonly [shape: string, text: string, path: string])[] = [
  ['text', '{"result":"rows"}', 'result[0]'],
  ['a number', '{"result":7}', 'result[0]'],
  ['false', '{"result":false}', 'result[0]'],
  ['a list with null', JSON.stringify({ result: [one, null] }), 'result[1]'],
  ['a list with text', '{"result":["a"]}', 'result[0]'],
  ['a list of lists', '{"result":[[{}]]}', 'result[0]'],
  ['an error that came with status 200', '{"message":"Internal error"}', ''],
  ['a field of another name', JSON.stringify({ results: [one] }), ''],
  ['nothing, since the document is a list', '[]', ''],
  ['nothing, since the document is null', 'null', ''],
  ['nothing, since the document is text', '"x"', ''],
];

/** What a decoder says against a document. */
export function faultOf(decode: () => unknown): unknown {
  try {
    decode();
  } catch (error) {
    expect(error).toBeInstanceOf(DecodeError);
    return error;
  }
  throw new Error('It was accepted.');
}
