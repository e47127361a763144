// One run of an export, in a process that may be killed: `node child.ts ORDER`.
import { aptos } from '@sluice/aptos';
import { createClient, exportTo, type Sink } from '@sluice/core';
import { fileState } from '@sluice/core/node';
import { csv } from '@sluice/exporters/csv';
import { jsonl } from '@sluice/exporters/jsonl';
import { size, type ChildMessage, type ExportOrder } from './exportOrder.js';
import { Life } from './life.js';
import { mortalFileSystem } from './mortalFileSystem.js';
import { watchedSink } from './watchedSink.js';

const order: ExportOrder = JSON.parse(process.argv[2] ?? '');
const life = new Life(order.failPoint);
const message = await run(order).catch((error: unknown): ChildMessage => ({ error: String(error) }));
await life.end();
console.log(JSON.stringify(message));
process.exitCode = 'error' in message ? 1 : 0;

async function run({
  apiKey,
  aptosUrl,
  owners,
  path,
  concurrency,
  commitEvery,
  ...rest
}: ExportOrder): Promise<ChildMessage> {
  await using client = createClient({ apiKey, rateLimit: false, retry: { baseDelay: 5 } }).use(
    aptos({ baseUrl: aptosUrl }),
  );
  const holdings = client.aptos.nfts({ ownerAddresses: owners, ownersPerRequest: 1, pageSize: size.pageSize });
  const fileSystem = mortalFileSystem(path, life);
  const sink = watchedSink(sinkOf({ ...rest, path, fileSystem }), life);
  const state = fileState(`${path}.sluice`, { fileSystem });
  const { rows } = await exportTo(holdings, sink, { state, concurrency, commitEvery, prefetch: size.prefetch }).run();
  return { rows };
}

function sinkOf({
  format,
  path,
  ifExists,
  fileSystem,
}: Pick<ExportOrder, 'format' | 'path' | 'ifExists'> &
  Required<Pick<Parameters<typeof csv>[0], 'fileSystem'>>): Sink<object> {
  const options = {
    path,
    ifExists,
    ...(fileSystem && { fileSystem }),
    gzip: format.endsWith('.gz') && { pagesPerMember: size.pagesPerMember },
  };
  return format.startsWith('csv') ? csv(options) : jsonl(options);
}
