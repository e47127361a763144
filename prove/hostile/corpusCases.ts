import { apis } from '../../test/kit/apiReference.js';
import { corpusTexts } from './corpus.js';
import { hostileKey } from './keyTraces.js';
import type { HostileCase } from './hostileCase.js';
import { oddWires, plainWire } from './wire.js';

const nothing = '{"result":[]}';
/** An ordinary page that repeats what it received. */
const page = JSON.stringify({ result: [{ id: 'a', name: 'a', sent: hostileKey }], cursor: null, hasNextPage: false });

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
