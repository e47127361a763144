// Walks through what a hostile server says, in a process with little memory: `node child.ts SETTINGS`. It takes orders as messages, and
// reports on each.
import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import { aptos } from '@sluice/aptos';
import {
  createClient,
  exportTo,
  memoryState,
  type Change,
  type ClientOptions,
  type Link,
  type Source,
} from '@sluice/core';
import { csv, csvFormat } from '@sluice/exporters/csv';
import { jsonl, jsonlFormat } from '@sluice/exporters/jsonl';
import { streams } from '@sluice/streams';
import { AnsweringLink, markIn } from '../../packages/core/test/hostile/answeringLink.js';
import type { ApiName } from '../../packages/core/test/hostile/apiName.js';
import { exactJson } from '../../packages/core/test/hostile/exactJson.js';
import type { Mark } from '../../packages/core/test/hostile/expectedWalk.js';
import { hostileKey } from '../../packages/core/test/hostile/hostileKey.js';
import { outcomeOf, seen, type Outcome } from '../../packages/core/test/hostile/outcome.js';
import { pollution } from '../../packages/core/test/hostile/pollution.js';
import { heap } from '../watch/heap.js';
import type {
  ChildSettings,
  HeapReport,
  Order,
  SeenChange,
  StormOrder,
  StormReport,
  WalkOrder,
  WalkReport,
} from './order.js';

const { url, folder }: ChildSettings = JSON.parse(process.argv[2] ?? '');
const strays: string[] = [];
for (const event of ['uncaughtException', 'unhandledRejection'])
  process.on(event, (error: unknown) => strays.push(error instanceof Error ? String(error.stack) : String(error)));

const answering = new AnsweringLink(hostileKey);
let isAnswered = false;
let marks: Mark[] = [];
let files = 0;
let peak = 0;

/** Says which page a request is for, or answers it by itself. */
const link: Link = (next) => (request) => {
  if (isAnswered) return answering.link(next)(request);
  marks.push(markIn(request.query));
  return next({ ...request, headers: { ...request.headers, 'x-page': String(marks.length - 1) } });
};

const patience: Partial<ClientOptions> = {
  apiKey: hostileKey,
  // One retry, so that a connection that the server closes behind an answer is no fault of the next one.
  retry: { retries: 1, baseDelay: 0, maxRetryAfter: 5 },
  timeouts: { response: 20_000 },
};
const one = clientOf({ rateLimit: false, links: [link] });
const many = clientOf({ rateLimit: { requests: 1_000, per: 1_000, concurrent: 4 } });

process.on('message', (order: Order) => {
  void reportOn(order).then((report) => process.send?.(report));
});
process.once('disconnect', () => process.exit());
process.send?.('ready');

function clientOf(options: Partial<ClientOptions>) {
  const client = createClient({ apiKey: hostileKey, ...patience, ...options });
  return client.use(streams({ baseUrl: `${url}/streams` })).use(aptos({ baseUrl: `${url}/aptos` }));
}

async function reportOn(order: Order): Promise<WalkReport | StormReport | HeapReport> {
  if (order.kind === 'heap') return { used: heap(), peak, resident: process.resourceUsage().maxRSS * 1_024 };
  const report = order.kind === 'walk' ? await walk(order) : await storm(order);
  // What was let go shows a little later.
  await turnOfTheLoop();
  peak = Math.max(peak, process.memoryUsage().heapUsed);
  const polluted = pollution();
  return { ...report, strays: strays.splice(0), ...(polluted !== undefined && { pollution: polluted }) };
}

function sourceOf(client: typeof one, api: ApiName): Source<object> {
  return api === 'streams' ? client.streams.list() : client.aptos.walletNfts({ ownerAddresses: ['0x1'] });
}

async function walk({ api, use, texts }: WalkOrder): Promise<Omit<WalkReport, 'strays'>> {
  isAnswered = texts !== undefined;
  answering.answerWith(api, texts ?? []);
  marks = answering.marks;
  const source = sourceOf(one, api);
  switch (use) {
    case 'rows':
      return { ...(await outcomeOf(source, hostileKey)), marks };
    case 'texts':
      return { ...(await writtenAsTexts(source)), marks };
    case 'file':
      return { ...(await writtenToFiles(source)), marks };
    case 'watch':
      return { ...(await watched(api)), marks };
  }
}

async function writtenAsTexts(source: Source<object>): Promise<Omit<WalkReport, 'strays' | 'marks'>> {
  const written = { csv: '', jsonl: '' };
  const encoders = { csv: csvFormat().encoder(source.info.schema), jsonl: jsonlFormat().encoder(source.info.schema) };
  written.csv += encoders.csv.header;
  const outcome = await outcomeOf(source, hostileKey, (rows) => {
    written.csv += encoders.csv.encode(rows);
    written.jsonl += encoders.jsonl.encode(rows);
  });
  return { ...outcome, written };
}

/** To one kind of file, turn and turn about. Rows are only told of by what is in it. */
async function writtenToFiles(source: Source<object>): Promise<Omit<WalkReport, 'strays' | 'marks'>> {
  files += 1;
  const kind = files % 2 === 0 ? 'csv' : 'jsonl';
  const home = join(folder, String(files));
  const path = `${home}/rows.${kind}`;
  await mkdir(home);
  try {
    await exportTo(source, kind === 'csv' ? csv({ path }) : jsonl({ path }), { state: memoryState() }).run();
    return { rows: [], traces: [], written: { [kind]: await readFile(path, 'utf8') } };
  } catch (error) {
    return { rows: [], ...seen(error, hostileKey) };
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

/** The first poll finds what is answered first; of the second one comes what it makes of the rest. */
async function watched(api: ApiName): Promise<Omit<WalkReport, 'strays' | 'marks'>> {
  const options = { every: 1, polls: 2, confirmations: 1, acceptRemovals: true };
  const source: Source<Change<object>> =
    api === 'streams' ? one.streams.watch(options) : one.aptos.watchWalletNfts({ ...options, ownerAddresses: ['0x1'] });
  const changes: SeenChange[] = [];
  let outcome: Outcome = { rows: [], traces: [] };
  try {
    for await (const { items, health, index } of source.pages()) {
      if (health?.error !== undefined) outcome = { rows: [], ...seen(health.error, hostileKey) };
      if (index === 0 && health?.outcome !== 'polled') throw new Error('The first poll has failed.');
      if (index > 0)
        for (const { type, key, before, after } of items)
          changes.push({ type, key, before: exactJson(before), after: exactJson(after) });
    }
    return { ...outcome, changes };
  } catch (error) {
    return { rows: [], ...seen(error, hostileKey) };
  }
}

async function storm({ api, walks }: StormOrder): Promise<Omit<StormReport, 'strays'>> {
  const ends = await Promise.all(
    Array.from({ length: walks }, async () => {
      const { rows, error } = await outcomeOf(sourceOf(many, api), hostileKey);
      return error ? (error.code ?? error.stack ?? error.message) : rows.length;
    }),
  );
  return { ends };
}
