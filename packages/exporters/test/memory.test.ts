import { statSync } from 'node:fs';
import { join } from 'node:path';
import { startSandbox } from '@sluice/sandbox';
import { expect, test } from 'vitest';
import { runExportChild } from './runExportChild.js';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';

/** `SLUICE_TEST_ROWS=10000000` tells the full promise. */
const wanted = process.env['SLUICE_TEST_ROWS'];
const rows = Number(wanted ?? 200_000);

test(
  `E10 ${rows.toLocaleString('en')} rows pass through a heap of 64 MB, with a concurrency of 3 and with state, and leave less than 32 bytes each`,
  // Ten million rows take many minutes.
  { tags: ['slow'], ...(wanted !== undefined && { timeout: 0 }) },
  async () => {
    await using sandbox = await startSandbox({ holdings: rows });
    const path = join(temporaryFolder(), 'holdings.csv');
    const nodeOptions = ['--max-old-space-size=64', '--expose-gc'];
    const outcome = await runExportChild(sandbox, path, { nodeOptions, concurrency: 3 });
    expect(outcome).toMatchObject({ rows, bytes: statSync(path).size });
    if (!('used' in outcome)) return;
    const { used, pages } = outcome;
    expect(used).toHaveLength(Math.floor(pages / 5));
    // The first rounds fill caches, and how much is under way differs from one to the next; a leak takes its share of all of them.
    const [warm, last] = [used.slice(4, 10), used.slice(-6)].map((looks) => Math.min(...looks)) as [number, number];
    expect((last - warm) / ((pages - 50) * 1_000)).toBeLessThan(32);
    if (wanted !== undefined) console.log(outcome);
  },
);

test('E10 30,000 rows pass through a heap that has no room for them', async () => {
  await using sandbox = await startSandbox({ holdings: 30_000 });
  const path = join(temporaryFolder(), 'holdings.csv');
  const outcome = await runExportChild(sandbox, path, { nodeOptions: ['--max-old-space-size=32'], concurrency: 3 });
  expect(outcome).toMatchObject({ rows: 30_000, bytes: statSync(path).size });
});
