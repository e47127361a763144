// npm start: from a fresh clone to the tour.
import './build.mjs';
import { run } from './run.mjs';

process.exitCode = await run(process.execPath, ['packages/cli/dist/bin.js', 'demo', ...process.argv.slice(2)]);
