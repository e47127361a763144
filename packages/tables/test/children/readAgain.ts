// Runs a query again and again, in a process of its own, until it is told to stop; then says which different answers it got.
import { createRequire } from 'node:module';
import { setImmediate } from 'node:timers/promises';
import pg from 'pg';

const [place = '', sql = ''] = process.argv.slice(2);
const seen = new Set<string>();
let reads = 0;
let isOn = true;
process.once('message', () => (isOn = false));

const ask = place.startsWith('postgres:') ? await askPostgres() : askSqlite();
while (isOn) {
  seen.add(JSON.stringify(await ask()));
  reads += 1;
  if (reads === 1) process.send?.('reading');
  // Lets the message in.
  await setImmediate();
}
process.send?.(JSON.stringify({ reads, seen: [...seen] }));
process.exit();

function askSqlite(): () => unknown {
  // Not a part of the bundle that this script runs as.
  const { DatabaseSync } = createRequire(import.meta.url)(
    '@photostructure/sqlite',
  ) as typeof import('@photostructure/sqlite');
  const db = new DatabaseSync(place);
  // The writer changes how the database keeps its journal, at its beginning and its end.
  db.exec('PRAGMA busy_timeout = 30000');
  return () => db.prepare(sql).all();
}

async function askPostgres(): Promise<() => Promise<unknown>> {
  const client = new pg.Client({ connectionString: place });
  await client.connect();
  return async () => (await client.query(sql)).rows;
}
