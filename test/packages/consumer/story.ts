// Code as a user of every package would write it. Each TypeScript compiles it, and it runs as one of them emits it.
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { amountOf, aptos, type NftHolding } from '@sluice/aptos';
import { createClient, exportTo, memoryState, SluiceError, type Change, type Sink, type Source } from '@sluice/core';
import { fileState } from '@sluice/core/node';
import { csv } from '@sluice/exporters/csv';
import { jsonl } from '@sluice/exporters/jsonl';
import { webhook } from '@sluice/exporters/webhook';
import { startReceiver, startSandbox } from '@sluice/sandbox';
import { statusChanges, streams, type EvmStream } from '@sluice/streams';
import { filter, firstValueFrom, map, toArray } from 'rxjs';

const sandbox = await startSandbox({ holdings: 250, streams: 7 });
const { apiKey, aptosUrl, streamsUrl, owners } = sandbox;
const folder = await mkdtemp(join(tmpdir(), 'sluice-story-'));

const client = createClient({ apiKey, rateLimit: false }).use(aptos({ baseUrl: aptosUrl }));
const both = client.use(streams({ baseUrl: streamsUrl }));
// @ts-expect-error The name is taken.
const taken = () => both.use(streams({ baseUrl: streamsUrl }));
// @ts-expect-error The plugin is not in use.
const missing = () => client.streams;

const holdings: Source<NftHolding> = both.aptos.nfts({ ownerAddresses: owners });
const list: Source<EvmStream> = both.streams.list();

// Into files
const path = join(folder, 'holdings.csv');
const report = await exportTo(holdings, csv({ path }), { state: fileState(`${path}.sluice`) }).run();
const lines = (await readFile(path, 'utf8')).length;
await exportTo(list, jsonl({ path: join(folder, 'streams.jsonl') })).run();

// As an Observable, and pulled
const amounts = await firstValueFrom(
  holdings.pipe(
    map(amountOf),
    filter((amount): amount is bigint => amount !== undefined),
    toArray(),
  ),
);
const ids: string[] = [];
for await (const { id } of list) ids.push(String(id));

// Into a custom sink
let kept = 0;
const counting: Sink<EvmStream> = {
  name: 'counting',
  identity: null,
  delivery: 'at-least-once',
  open: () =>
    Promise.resolve({
      write: ({ items }) => Promise.resolve(void (kept += items.length)),
      flush: () => Promise.resolve(kept),
      seal: () => Promise.resolve(kept),
      close: () => Promise.resolve({ target: `${kept} rows` }),
      abort: () => Promise.resolve(),
    }),
};
const counted = await exportTo(list, counting, { state: memoryState() }).run();

// To a webhook
const receiver = await startReceiver();
const changes: Source<Change<EvmStream>> = both.streams.list.watch({}, { every: 1, polls: 2 });
const service = { url: receiver.url, secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', allowAddresses: ['127.0.0.1'] };
await exportTo(changes, webhook<Change<EvmStream>>(service), { state: fileState(join(folder, 'forward')) }).run();
const statuses = both.streams.list.watch({}, { every: 1, polls: 1 }).pipe(statusChanges());

let code: string | undefined;
try {
  await exportTo(both.aptos.nfts({ ownerAddresses: ['0x1'], pageSize: 0 }), csv({ path })).run();
} catch (error) {
  if (SluiceError.is(error)) code = error.code;
}

console.log(
  JSON.stringify({
    rows: report.rows,
    isWritten: lines > 0,
    amounts: amounts.length > 0,
    ids: ids.length,
    counted: counted.target,
    accepted: receiver.counts.accepted,
    code,
    unused: [taken, missing, statuses].length,
  }),
);
await Promise.all([client.close(), receiver.close(), sandbox.close()]);
await rm(folder, { recursive: true });
