// @module-tag slow
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { phases } from './phases.js';
import { run } from '../../test/run.js';

// `npm run prove -- crash --kills 200` is more thorough; here every phase is hit at least once.
test('E1 E4 exports killed with SIGKILL anywhere, and run again, write the same bytes and fetch few pages again', async () => {
  const harness = ['--import', 'tsx', '--conditions=@sluice/source', 'prove/crash.ts'];
  const { code, output } = await run(
    [...harness, '--kills', '48', '--seed', '1'],
    join(import.meta.dirname, '../..'),
    {},
  );
  expect(output).toContain('Proven: ');
  for (const phase of phases) expect(output).toMatch(new RegExp(`^${phase} +[1-9]\\d* +0 +\\d+$`, 'm'));
  expect(code).toBe(0);
});
