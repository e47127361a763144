import { statSync } from 'node:fs';
import { join } from 'node:path';
import { startSandbox } from '@sluice/sandbox';
import { expect, test } from 'vitest';
import { runExportChild } from './runExportChild.js';
import { tempFolder } from './tempFolder.js';

/** A million rows by default: at 64 bytes kept of each they would fill the heap. `SLUICE_TEST_ROWS=10000000` tells the full promise. */
const wanted = process.env['SLUICE_TEST_ROWS'];
const rows = Number(wanted ?? 1_000_000);

test(
  `E10 ${rows.toLocaleString('en')} rows pass through a heap of 64 MB, in three lanes and with state`,
  { timeout: 0 },
  async () => {
    await using sandbox = await startSandbox({ holdings: rows });
    const path = join(tempFolder(), 'holdings.csv');
    const outcome = await runExportChild(sandbox, path, { nodeOptions: ['--max-old-space-size=64'], lanes: 3 });
    expect(outcome).toMatchObject({ rows, bytes: statSync(path).size });
    if (wanted !== undefined) console.log(outcome);
  },
);
