// npm run test:packages: the packages, tried from outside as those who install them would. What follows `--` goes to vitest.
import './build.mjs';
import { pack } from './pack.mjs';
import { run } from './run.mjs';

await pack();
process.exitCode = await run('vitest', ['run', '--root', 'test/packages', ...process.argv.slice(2)]);
