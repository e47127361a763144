// Where the time of an export goes once its code is compiled: CPU of the main thread in microseconds per row, the
// largest first.
//
//   node --import tsx benchmarks/profile.ts               an export to CSV
//   node --import tsx benchmarks/profile.ts handTuned     the same of another contestant
//   node --import tsx benchmarks/profile.ts sluice sqlite           into a table; also postgres, jsonl, csv.gz
//
// For a watch: node --cpu-prof --import tsx prove/watch/comparisonCost.ts 50000 20
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { Session, type Profiler } from 'node:inspector/promises';
import { join } from 'node:path';
import { printTable } from '../prove/terminal/printTable.js';
import { startPostgres } from '../test/kit/postgresServer.js';
import type { Contestant } from './contestants/contestant.js';
import { rowsPerPage, type ServedPages } from './server/servedPages.js';

const served: ServedPages = { pages: 1_000, parts: 1, latency: 0 };
/** Rounds to warm up, and to measure. */
const warm = 5;
const measured = 8;
const shown = 20;

const [contestant = 'sluice', format = 'csv'] = process.argv.slice(2);
const { exportHoldings }: { readonly exportHoldings: Contestant } = await import(`./contestants/${contestant}.js`);
const server = fork(new URL('server/pageServer.ts', import.meta.url), [JSON.stringify(served)]);
const folder = mkdtempSync(join(process.cwd(), 'bench-'));
const postgres = format === 'postgres' ? await startPostgres() : undefined;
try {
  const [address] = await once(server, 'message');
  const path = join(folder, `rows.${format}`);
  const job = { ...address, path, format, database: postgres?.url, concurrency: 1, isKept: true };
  for (let round = 0; round < warm; round += 1) await exportHoldings(job);
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.start');
  for (let round = 0; round < measured; round += 1) await exportHoldings(job);
  const { profile } = await session.post('Profiler.stop');
  const rows = measured * served.pages * rowsPerPage;
  const times = selfTimes(profile);
  const all = [...times.values()].reduce((sum, time) => sum + time, 0);
  printTable(
    ['µs per row', 'in'],
    [['all', all] as const, ...times]
      .sort(([, a], [, b]) => b - a)
      .slice(0, shown)
      .map(([name, time]) => [(time / rows).toFixed(2), name]),
  );
} finally {
  server.disconnect();
  await postgres?.close();
  rmSync(folder, { recursive: true });
}

/**
 * Microseconds per function, without the functions that it calls. Entries without a name in a profile are native code.
 */
function selfTimes({ nodes, samples = [], timeDeltas = [] }: Profiler.Profile): ReadonlyMap<string, number> {
  const names = new Map(
    nodes.map(({ id, callFrame: { functionName, url } }) => [
      id,
      `${functionName} ${url.split('/').slice(-2).join('/')}`,
    ]),
  );
  const times = new Map<string, number>();
  samples.forEach((id, nth) => {
    const name = names.get(id) ?? '';
    times.set(name, (times.get(name) ?? 0) + (timeDeltas[nth] ?? 0));
  });
  return times;
}
