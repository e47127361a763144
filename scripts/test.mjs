// npm test: every check, then every test. What follows `npm test --` goes to vitest.
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
process.exitCode = await run('vitest', ['run', ...process.argv.slice(2)]);
