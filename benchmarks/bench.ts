// What an export costs, as ratios of the same work in the same run: the machine decides the figures, not the ratios.
//
//   npm run bench -- --rounds 10
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
import { compare, medianOf, ratioOf } from './compare.js';

const pages = 1_000;
const { values } = parseArgs({ options: { rounds: { type: 'string', default: '10' } } });

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
    Number(values.rounds),
  );
  const { median, least, most } = ratioOf(times, 'with state', 'without state');
  const percent = (ratio: number): string => `${((ratio - 1) * 100).toFixed(1)} %`;
  printTable(
    ['work', 'median (ms)', 'thousand rows/s'],
    Object.entries(times).map(([name, each]) => [
      name,
      Math.round(medianOf(each)),
      Math.round((100 * pages) / medianOf(each)),
    ]),
  );
  console.log(
    `\nA commit every 50 pages costs ${percent(median)} (the middle half of ${values.rounds} rounds: ${percent(least)} to ${percent(most)}).`,
  );
} finally {
  server.disconnect();
  rmSync(folder, { recursive: true });
}
