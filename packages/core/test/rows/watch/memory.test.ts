// @module-tag slow
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runChild } from '../../http/runChild.js';
import { temporaryFolder } from '../../../../../test/kit/temporaryFolder.js';

const size = 5_000;

test('C11 a poll leaves less than 1 kB behind, from the 200th to the 300th', async () => {
  const { stdout, stderr } = await runChild(new URL('./children/manyPolls.js', import.meta.url), {
    args: [join(temporaryFolder(), 'state'), String(size)],
    node: ['--expose-gc'],
  });
  expect(stderr).toBe('');
  const { used, changes }: { used: number[]; changes: number } = JSON.parse(stdout);
  expect(used).toHaveLength(31);
  expect(changes).toBe(size + (309 * 2 * size) / 100);
  // Each figure is the least of two, since some garbage may stay from one to the next.
  const before = Math.min(used[19]!, used[20]!);
  const after = Math.min(used[29]!, used[30]!);
  expect((after - before) / 100).toBeLessThan(1_000);
});

test('C11 a watch keeps less than 200 bytes of a row beyond the row', async () => {
  const { stdout, stderr } = await runChild(new URL('./children/stateBytes.js', import.meta.url), {
    args: ['20000'],
    node: ['--expose-gc'],
  });
  expect(stderr).toBe('');
  const bytes = Number(stdout);
  // The row has to be found by its key: less would mean that the rows were not there.
  expect(bytes).toBeGreaterThan(40);
  expect(bytes).toBeLessThan(200);
});
