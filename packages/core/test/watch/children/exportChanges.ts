// Watches the listing of a server and exports its changes into a file, from the moment that it is told to. The state is beside the file.
import { once } from 'node:events';
import { createSource, exportTo, watch } from '../../../src/index.js';
import { fileSink, fileState } from '../../../src/node/index.js';
import { changeLines } from '../changeLines.js';
import type { Row } from '../listing.js';

const [url = '', path = '', polls] = process.argv.slice(2);
const listing = createSource<Row>({
  name: 'test.served',
  identity: null,
  schema: { columns: ['id', 'status'], key: ({ id }) => id },
  async fetch({ at, signal }) {
    const answer = await fetch(`${url}/?from=${at && 'cursor' in at ? at.cursor : '0'}`, { signal });
    return answer.json() as Promise<{ rows: Row[]; next: { cursor: string } | 'end' }>;
  },
});
const state = fileState(`${path}.sluice`);
const changes = watch(listing, { every: 4, state, ...(polls !== undefined && { polls: Number(polls) }) });
process.send?.('ready');
await once(process, 'message');
await exportTo(changes, fileSink(changeLines, { path }), { state }).run();
process.send?.('done');
process.disconnect();
