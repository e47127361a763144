// With everything on: validation, the limiter's interface, checkpoints at their default, progress.
import { rmSync } from 'node:fs';
import { aptos } from '@sluice/aptos';
import { createClient, exportTo } from '@sluice/core';
import { fileState } from '@sluice/core/node';
import { dashboard } from '@sluice/dashboard';
import { csv } from '@sluice/exporters/csv';
import { jsonl } from '@sluice/exporters/jsonl';
import { parquet } from '@sluice/exporters/parquet';
import { postgres } from '@sluice/tables/postgres';
import { sqlite } from '@sluice/tables/sqlite';
import pg from 'pg';
import { apiKey, type Job } from './contestant.js';

export async function exportHoldings({
  url,
  owners,
  path,
  format,
  concurrency,
  isKept,
  isShown = false,
  isGrouped = false,
  database = '',
}: Job): Promise<number> {
  const plain = createClient({ apiKey, rateLimit: false });
  await using client = (isShown ? plain.use(dashboard()) : plain).use(aptos({ baseUrl: url }));
  const holdings = client.aptos.nfts({ ownerAddresses: owners, ...(!isGrouped && { ownersPerRequest: 1 }) });
  let rows = 0;
  if (format === 'sqlite' || format === 'postgres') {
    // A new table each time: what replaces rows of another one is copied once more.
    const table = { table: 'rows' };
    const sink = format === 'sqlite' ? sqlite({ path, ...table }) : postgres({ url: database, ...table });
    if (format === 'sqlite') rmSync(path, { force: true });
    else await dropped(database);
    const { rows } = await exportTo(holdings, sink, { concurrency }).run();
    return rows;
  }
  const file = { path, ifExists: 'overwrite', gzip: format === 'csv.gz' } as const;
  const sink =
    format === 'parquet' ? parquet({ path, ifExists: 'overwrite' }) : (format === 'jsonl' ? jsonl : csv)(file);
  const state = isKept && { state: fileState(`${path}.sluice`) };
  await exportTo(holdings, sink, { ...state, concurrency }).run({ onProgress: (progress) => (rows = progress.rows) });
  return rows;
}

async function dropped(database: string): Promise<void> {
  const client = new pg.Client({ connectionString: database });
  await client.connect();
  await client.query('DROP TABLE IF EXISTS rows, _sluice');
  await client.end();
}
