// Exports the runs of all tests of all projects into a file, from the moment that it is told to.
import { once } from 'node:events';
import { exportTo } from '../../../src/index.js';
import { fileSink, fileState } from '../../../src/node/index.js';
import { levelsClient, runLines } from '../levelsApi.js';

const [baseUrl = '', path = '', concurrency = '1'] = process.argv.slice(2);
const client = levelsClient(baseUrl);
const state = fileState(`${path}.sluice`);
process.send?.('ready');
await once(process, 'message');
const options = { state, concurrency: Number(concurrency), commitEvery: 3 };
await exportTo(client.lab.runs(), fileSink(runLines, { path }), options).run();
await client.close();
process.send?.('done');
process.disconnect();
