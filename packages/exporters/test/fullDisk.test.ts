import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { startSandbox } from '@sluice/sandbox';
import { expect, test } from 'vitest';
import { runExportChild } from './runExportChild.js';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';

test('E9 a file that may not grow any more is explained, and leaves nothing behind', { tags: ['slow'] }, async () => {
  await using sandbox = await startSandbox({ holdings: 20_000 });
  const folder = temporaryFolder();
  // In blocks of 1,024 bytes: a few pages fit.
  const outcome = await runExportChild(sandbox, join(folder, 'holdings.csv'), { ulimit: '-f 2000' });
  expect(outcome).toMatchObject({
    error: { code: 'sink', message: expect.stringMatching(/EFBIG.*ulimit -f/), details: { platformCode: 'EFBIG' } },
  });
  expect(readdirSync(folder)).toEqual([]);
  expect(sandbox.counts.requests).toBeLessThan(10);
});
