// @module-tag slow
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { startSandbox } from '@sluice/sandbox';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';
import { queryDuck } from './duckdb.js';
import { runExportChild } from './runExportChild.js';

/** `SLUICE_TEST_ROWS=1000000` tells the full promise. */
const wanted = process.env['SLUICE_TEST_ROWS'];
const rows = Number(wanted ?? 100_000);

test(
  `D7 ${rows.toLocaleString('en')} rows are encoded in a heap of 160 MB, and DuckDB reads all of them`,
  // A million rows take minutes.
  wanted === undefined ? {} : { timeout: 0 },
  async () => {
    await using sandbox = await startSandbox({ holdings: rows });
    const path = join(temporaryFolder(), 'holdings.parquet');
    const outcome = await runExportChild(sandbox, path, { nodeOptions: ['--max-old-space-size=160'], concurrency: 3 });
    expect(outcome).toMatchObject({ rows, bytes: statSync(path).size });
    const { rows: read } = await queryDuck(
      `select count(*)::int n, count(amount)::int amounts, sum(length(owner_address)) > 0 is_read from read_parquet('${path}')`,
    );
    expect(read).toMatchObject([{ n: rows, is_read: true }]);
    if (wanted !== undefined) console.log(outcome);
  },
);
