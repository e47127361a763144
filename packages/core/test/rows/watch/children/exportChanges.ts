// Watches the listing of a server and exports its changes into a file, from the moment that it is told to. The state is beside the file.
import { once } from 'node:events';
import { exportTo, watch } from '../../../../src/index.js';
import { fileSink, fileState } from '../../../../src/node/index.js';
import { changeLines } from '../changeLines.js';
import { servedListing } from '../servedListing.js';

const [url = '', path = '', polls] = process.argv.slice(2);
const state = fileState(`${path}.sluice`);
const changes = watch(servedListing(url), { every: 4, state, ...(polls !== undefined && { polls: Number(polls) }) });
process.send?.('ready');
await once(process, 'message');
await exportTo(changes, fileSink(changeLines, { path }), { state }).run();
process.send?.('done');
process.disconnect();
