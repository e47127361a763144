// npm run check: what reads the code without running it.
import './build.mjs';
import { quietly } from './run.mjs';

const checks = ['lint', 'typecheck', 'format', 'direction', 'unused', 'api:check'];

const start = performance.now();
await quietly('turbo', [
  'run',
  ...checks,
  '--continue=dependencies-successful',
  '--log-order=grouped',
  '--log-prefix=none',
]);
console.log(`checks: ${checks.join(', ')} passed (${((performance.now() - start) / 1000).toFixed(1)} s)`);
