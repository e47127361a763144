// Proves T9 with the real clock: a server stops during an export for a while, and returns at the same port. The file must
// equal that of an undisturbed export.
//
//   npm run prove -- outages --away 5,30,90 --for 120
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { aptos } from '@sluice/aptos';
import { createClient, exportTo } from '@sluice/core';
import { csv } from '@sluice/exporters/csv';
import { startSandbox, type Sandbox } from '@sluice/sandbox';
import { printTable } from './terminal/printTable.js';

const { values } = parseArgs({
  options: {
    /** Seconds for which the server is away, one run each. */
    away: { type: 'string', default: '5,30,90' },
    /** The value of `retry.for` in seconds. */
    for: { type: 'string', default: '120' },
  },
});
const aways = values.away.split(',').map(Number);
const retryFor = Number(values.for) * 1000;
if (![...aways, retryFor].every((each) => each >= 0)) throw new Error('--away and --for are seconds.');

interface Run {
  readonly hash: string;
  readonly retries: number;
  /** Ms from the server's return to the end. */
  readonly after: number;
}

const start = (port = 0): Promise<Sandbox> => startSandbox({ seed: 1, holdings: 3_000, owners: 1, latency: 5, port });

/** Exports, and stops the server after some pages. */
async function run(away: number | undefined, folder: string): Promise<Run> {
  let sandbox = await start();
  const path = join(folder, `${String(away)}.csv`);
  const client = createClient({ apiKey: sandbox.apiKey, rateLimit: false, retry: { for: retryFor } });
  const { nfts } = client.use(aptos({ baseUrl: sandbox.aptosUrl })).aptos;
  let retries = 0;
  let pages = 0;
  let back = performance.now();
  let outage: Promise<void> | undefined;
  client.events.subscribe(({ type }) => {
    if (type === 'retry') retries += 1;
    if (type !== 'page') return;
    pages += 1;
    if (away !== undefined && pages === 10) outage = leave(away);
  });
  async function leave(seconds: number): Promise<void> {
    const { port } = new URL(sandbox.aptosUrl);
    await sandbox.close();
    await wait(seconds * 1000);
    sandbox = await start(Number(port));
    back = performance.now();
  }
  try {
    await exportTo(nfts({ ownerAddresses: sandbox.owners, pageSize: 50 }), csv({ path })).run();
    await outage;
    const after = performance.now() - back;
    return {
      hash: createHash('sha256')
        .update(await readFile(path))
        .digest('hex'),
      retries,
      after,
    };
  } finally {
    await client.close();
    await sandbox.close();
  }
}

const folder = await mkdtemp(join(tmpdir(), 'sluice-outages-'));
const faults: string[] = [];
const rows: (readonly (string | number)[])[] = [];
try {
  const { hash } = await run(undefined, folder);
  for (const away of aways) {
    try {
      const outcome = await run(away, folder);
      if (outcome.hash !== hash) faults.push(`away for ${String(away)} s: the file differs`);
      rows.push([away, outcome.retries, (outcome.after / 1000).toFixed(1)]);
    } catch (error) {
      faults.push(`away for ${String(away)} s: ${String(error)}`);
    }
  }
} finally {
  await rm(folder, { recursive: true });
}
printTable(['seconds away', 'retries', 'seconds after its return'], rows);
for (const fault of faults) console.log(`- ${fault}`);
console.log(faults.length === 0 ? 'Proven: each file is complete.' : 'Not proven.');
process.exitCode = faults.length === 0 ? 0 : 1;
