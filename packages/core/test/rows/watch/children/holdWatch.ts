// Watches with the state in the folder that its first argument names, takes nothing of what it is given, and says so.
import { once } from 'node:events';
import { watch } from '../../../../src/index.js';
import { fileState } from '../../../../src/node/index.js';
import { Listing, rowsOf } from '../listing.js';

const [folder = ''] = process.argv.slice(2);
const watched = watch(new Listing(rowsOf('a', 'b')).source(), { every: 1_000, state: fileState(folder) });
const pages = watched.pages()[Symbol.asyncIterator]();
await pages.next();
process.send?.('watching');
// What it is told to does not matter: it only waits.
await once(process, 'message');
