// What an export and a forward cost, as ratios of the same work in the same run: the machine decides the figures, not the ratios.
//
//   npm run bench -- --rounds 10 --only forward
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { aptos } from '@sluice/aptos';
import { createClient, exportTo, type StateStore } from '@sluice/core';
import { fileState } from '@sluice/core/node';
import { csv } from '@sluice/exporters/csv';
import { printTable } from '../prove/printTable.js';
import { compare, medianOf, ratioOf, type Rounds } from './compare.js';
import { compareForwards, recordsForwarded } from './forward.js';

const pages = 1_000;
const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '10' }, only: { type: 'string' } },
});
const rounds = Number(values.rounds);
const works: Readonly<Record<string, () => Promise<void>>> = { export: benchExport, forward: benchForward };
for (const [name, work] of Object.entries(works)) if ((values.only ?? name) === name) await work();

async function benchExport(): Promise<void> {
  const folder = mkdtempSync(join(process.cwd(), 'bench-'));
  const server = fork(fileURLToPath(new URL('server.ts', import.meta.url)), [String(100 * pages)]);
  try {
    const [{ aptosUrl, apiKey, owners: ownerAddresses }] = await once(server, 'message');
    await using client = createClient({ apiKey, rateLimit: false }).use(aptos({ baseUrl: aptosUrl }));
    const path = join(folder, 'holdings.csv');
    const exported = (state?: StateStore) => () =>
      exportTo(
        client.aptos.walletNfts({ ownerAddresses }),
        csv({ path, ifExists: 'overwrite' }),
        state ? { state } : {},
      ).run();
    const times = await compare(
      { 'without state': exported(), 'with state': exported(fileState(`${path}.sluice`)) },
      rounds,
    );
    printTimes(times, 100 * pages, 'rows');
    const { median, least, most } = ratioOf(times, 'with state', 'without state');
    const percent = (ratio: number): string => `${((ratio - 1) * 100).toFixed(1)} %`;
    console.log(
      `\nA commit every 50 pages costs ${percent(median)} (the middle half of ${rounds} rounds: ${percent(least)} to ${percent(most)}).\n`,
    );
  } finally {
    server.disconnect();
    rmSync(folder, { recursive: true });
  }
}

async function benchForward(): Promise<void> {
  const times = await compareForwards(rounds);
  printTimes(times, recordsForwarded, 'records');
  const { median, least, most } = ratioOf(times, 'a loop around undici', 'a forward');
  const percent = (ratio: number): string => `${(ratio * 100).toFixed(0)} %`;
  console.log(
    `\nA forward has ${percent(median)} of the throughput of a bare loop (the middle half of ${rounds} rounds: ${percent(least)} to ${percent(most)}).`,
  );
}

function printTimes(times: Rounds, done: number, what: string): void {
  printTable(
    ['work', 'median (ms)', `thousand ${what}/s`],
    Object.entries(times).map(([name, each]) => [
      name,
      Math.round(medianOf(each)),
      Number((done / medianOf(each)).toFixed(1)),
    ]),
  );
}
