import { join } from 'node:path';
import { startSandbox } from '@sluice/sandbox';
import { expect, test } from 'vitest';
import { bash, settingsFor } from './runSluice.js';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';

test('an export of one page ends before V8 optimizes the parser of its answer', async () => {
  await using sandbox = await startSandbox({ holdings: 10, owners: 1 });
  const [owner = ''] = sandbox.owners;
  const file = join(temporaryFolder(), 'holdings.csv');
  const traced = '"$1" --trace-wasm-compilation-times "${@:2}"';
  const args = ['nfts', 'export', '--owner', owner, '--to', file];
  const { code, stdout, stderr } = await bash(traced, args, { env: settingsFor(sandbox) });
  expect(stderr).toContain('10 rows in 1 page');
  expect(code).toBe(0);
  // The trace goes to stdout: the parser is there, and compiled in the quick way alone.
  expect(stdout).toContain('using Liftoff');
  expect(stdout).not.toMatch(/using turbofan/i);
});
