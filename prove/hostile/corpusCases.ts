import { apis } from '../../test/kit/apiReference.js';
import { corpusTexts } from '../../test/hostile/corpus.js';
import { hostileKey } from '../../test/hostile/keyTraces.js';
import type { HostileCase } from './hostileCase.js';
import { oddWires, plainWire } from './wire.js';

const nothing = '{"result":[]}';
/** A page like others, which repeats what it was sent. */
const page = JSON.stringify({ result: [{ id: 'a', name: 'a', sent: hostileKey }], cursor: null, hasNextPage: false });

/**
 * What was written by hand, for both APIs: every document read, over a socket and as texts, into a file and by a watch; and every oddity of
 * a wire by itself.
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
