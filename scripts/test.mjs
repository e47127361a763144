// npm test: every check, then every test, but campaigns only with full effort (SLUICE_TEST_EFFORT=3). What follows `npm test --` goes to
// vitest.
import { rmSync } from 'node:fs';
import { join } from 'node:path';

import { install } from './install.mjs';
import { quietly, root, run } from './run.mjs';

const checks = ['build', 'lint', 'typecheck', 'format', 'direction', 'unused', 'api:check'];

rmSync(join(root, 'reports'), { recursive: true, force: true });
await install();
const start = performance.now();
await quietly('turbo', [
  'run',
  ...checks,
  '--continue=dependencies-successful',
  '--log-order=grouped',
  '--log-prefix=none',
]);
console.log(`checks: ${checks.join(', ')} passed (${((performance.now() - start) / 1000).toFixed(1)} s)`);
const more = process.argv.slice(2);
const isWhole = Number(process.env.SLUICE_TEST_EFFORT) >= 3 || more.some((option) => option.startsWith('--project'));
process.exitCode = await run('vitest', ['run', ...(isWhole ? [] : ['--project=!campaigns']), ...more]);
