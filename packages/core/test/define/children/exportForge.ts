// Exports the issues of a forge into a file, from the moment that it is told to. The state is beside the file.
import { once } from 'node:events';
import { exportTo } from '../../../src/index.js';
import { fileSink, fileState } from '../../../src/node/index.js';
import { clientOf, issueLines, skipGone } from '../parentsApi.js';

const [baseUrl = '', path = '', concurrency = '1'] = process.argv.slice(2);
const client = clientOf(baseUrl, { responses: skipGone });
const state = fileState(`${path}.sluice`);
process.send?.('ready');
await once(process, 'message');
const sink = fileSink(issueLines, { path });
const options = { state, concurrency: Number(concurrency), commitEvery: 7 };
await exportTo(client.forge.issues({ pageSize: 50 }), sink, options).run();
await client.close();
process.send?.('done');
process.disconnect();
