import { readdir, readFile } from 'node:fs/promises';
import { apis } from '../../test/kit/apiReference.js';
import type { HostileCase } from './hostileCase.js';
import { nested } from './hostileTexts.js';
import { hostileKey } from './keyTraces.js';
import { oddWires, plainWire } from './wire.js';

const folder = new URL('corpus/', import.meta.url);
const nothing = '{"result":[]}';
/** An ordinary page that repeats what it received. */
const page = JSON.stringify({ result: [{ id: 'a', name: 'a', sent: hostileKey }], cursor: null, hasNextPage: false });

/** A handwritten document. */
export interface CorpusText {
  readonly name: string;
  readonly text: string;
}

/** Handwritten documents, valid or not, and those that are too large for a file. */
export async function corpusTexts(): Promise<CorpusText[]> {
  const names = (await readdir(folder)).toSorted();
  const files = await Promise.all(
    names.map(async (name) => ({ name, text: await readFile(new URL(name, folder), 'utf8') })),
  );
  return [...files, ...made];
}

/**
 * The handwritten cases, for both APIs: every document, over a socket and as text, into a file and in a watch; and
 * every oddity of the wire separately.
 */
export async function* corpusCases(): AsyncGenerator<HostileCase> {
  for (const { text } of await corpusTexts())
    for (const api of apis) {
      yield { api, use: 'rows', texts: [text] };
      yield { api, use: 'texts', texts: [text], wires: [plainWire] };
      yield { api, use: 'file', texts: [text] };
      yield { api, use: 'watch', texts: [text], first: nothing };
    }
  for (const wire of oddWires()) for (const api of apis) yield { api, use: 'rows', texts: [page], wires: [wire] };
}

const many = 100_000;
const wide = 20_000;
const row = '"id":"a","name":"a"';
const made: readonly CorpusText[] = [
  { name: '100,000 lists in one another', text: nested(many, 'list') },
  { name: '100,000 records in one another', text: nested(many, 'record') },
  { name: '100,000 lists in one another that never end', text: '['.repeat(many) },
  { name: '100,000 lists in one another, as rows', text: `{"result":${nested(many, 'list')}}` },
  { name: '100,000 lists in one another, in a row', text: `{"result":[{${row},"x":${nested(many, 'list')}}]}` },
  { name: '100,000 records in one another, in a row', text: `{"result":[{${row},"x":${nested(many, 'record')}}]}` },
  { name: '100,000 lists in one another, as a cursor', text: `{"result":[],"cursor":${nested(many, 'list')}}` },
  { name: '100,000 brackets in a text, which nest nothing', text: `{"result":[{${row},"x":"${'[{'.repeat(many)}"}]}` },
  { name: 'as deep as may be', text: `{"result":[{${row},"x":${nested(497, 'list')}}]}` },
  { name: 'one level deeper than may be', text: `{"result":[{${row},"x":${nested(498, 'list')}}]}` },
  { name: 'a name twice, the first one too deep', text: `{"result":${nested(many, 'list')},"result":[{${row}}]}` },
  {
    name: '20,000 rows',
    text: `{"result":[${Array.from({ length: wide }, (_, at) => `{"id":${at},"name":"a"}`).join(',')}]}`,
  },
  { name: '20,000 empty rows', text: `{"result":[${'{},'.repeat(wide)}{}]}` },
  {
    name: '20,000 fields in a row',
    text: `{"result":[{${row},${Array.from({ length: wide }, (_, at) => `"f${at}":${at}`).join(',')}}]}`,
  },
  { name: 'one name 100,000 times', text: `{"result":[{${row},${'"x":1,'.repeat(many)}"x":2}]}` },
  {
    name: 'a number of 1,000,000 digits',
    text: `{"result":[{${row},"x":${'9'.repeat(1_000_000)}}],"total":${'9'.repeat(1_000_000)}}`,
  },
  { name: 'a number of 1,000,000 zeros', text: `{"result":[{${row},"x":0.${'0'.repeat(1_000_000)}1}]}` },
  { name: 'a name of 1,000,000 characters', text: `{"result":[{${row},"${'x'.repeat(1_000_000)}":1}]}` },
  { name: 'a cursor of 1,000,000 characters', text: `{"result":[{${row}}],"cursor":"${'x'.repeat(1_000_000)}"}` },
  { name: 'a cursor of 1,000,000 escapes', text: `{"result":[{${row}}],"cursor":"${'%25'.repeat(1_000_000)}"}` },
  { name: 'a cursor that is as long as may be', text: `{"result":[{${row}}],"cursor":"${'x'.repeat(16_384)}"}` },
  { name: 'a cursor that is longer than may be', text: `{"result":[{${row}}],"cursor":"${'x'.repeat(16_385)}"}` },
  { name: '1,000,000 blanks', text: ' '.repeat(1_000_000) },
  { name: '1,000,000 blanks before a page', text: `${' '.repeat(1_000_000)}<html>` },
  { name: '1,000,000 backslashes', text: '\\'.repeat(1_000_000) },
  { name: '1,000,000 quotes', text: '"'.repeat(1_000_000) },
  { name: 'a text of 1,000,000 escapes', text: `{"result":[{${row},"x":"${'\\u0041'.repeat(1_000_000)}"}]}` },
];
