// Takes a table over, in a process of its own; then says the code of the error, or `taken`.
import { SluiceError } from '@sluice/core';
import { postgres } from '../../src/postgres.js';
import { sqlite } from '../../src/sqlite.js';

const [place = '', table = ''] = process.argv.slice(2);
const sink = place.startsWith('postgres:') ? postgres({ url: place, table }) : sqlite({ path: place, table });
const outcome = await sink.state.lock(new AbortController().signal).then(
  () => 'taken',
  (error: unknown) => (SluiceError.is(error) ? error.code : String(error)),
);
process.send?.(outcome);
process.disconnect();
