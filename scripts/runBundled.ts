// Runs a script of TypeScript as one file of JavaScript, which is faster than through a loader:
// `node --import tsx scripts/runBundled.ts SCRIPT [ARGUMENT…]`.
import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

import { bundled } from './bundled.js';

const [script = '', ...args] = process.argv.slice(2);
const { status } = spawnSync(process.execPath, [bundled(pathToFileURL(resolve(script))), ...args], {
  stdio: 'inherit',
});
process.exitCode = status ?? 1;
