// @module-tag slow
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { run } from '../../test/run.js';

// `npm run prove -- forward --records 10000 --kills 50` is more thorough.
test('W1 W2 W7 a sender that is killed repeatedly delivers every record, unchanged and in the order of its key', async () => {
  const harness = ['--import', 'tsx', '--conditions=@sluice/source', 'prove/forward.ts'];
  const trial = ['--records', '600', '--kills', '4', '--seed', '1'];
  const { code, output } = await run([...harness, ...trial], join(import.meta.dirname, '../..'), {});
  expect(output).toContain('Proven: ');
  expect(code).toBe(0);
});
