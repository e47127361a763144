// npm run prove -- NAME: runs a campaign of the folder prove, from the sources. prove/README.md says what each of them proves.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

import { root, run } from './run.mjs';

/** Worlds are played by thousands: as one file of JavaScript they start faster than through a loader. */
const bundled = ['worlds'];

const names = readdirSync(join(root, 'prove'))
  .filter((file) => file.endsWith('.ts'))
  .map((file) => file.slice(0, -'.ts'.length));
const [name = '', ...options] = process.argv.slice(2);
if (!names.includes(name)) {
  console.error(`There is no campaign "${name}". Use: npm run prove -- ${names.join(' | ')}`);
  process.exit(2);
}
const script = [...(bundled.includes(name) ? ['scripts/runBundled.ts'] : []), `prove/${name}.ts`];
process.exitCode = await run('node', ['--import', 'tsx', '--conditions=@sluice/source', ...script, ...options]);
