// npm run test:browser: bundles, their sizes, and the packages in Chromium. What follows `--` goes to vitest.
import './build.mjs';
import { run } from './run.mjs';

process.exitCode = await run('vitest', ['run', '--root', 'test/browser', ...process.argv.slice(2)]);
