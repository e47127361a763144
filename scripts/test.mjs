// npm test: installs and builds what is missing, then runs the tests that are not slow. `npm test -- --all` runs every test. What else follows
// `--` goes to vitest: a file's name, say.
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { install } from './install.mjs';
import { promisesNotTested } from './promisesTested.mjs';
import { quietly, root, run } from './run.mjs';

const given = process.argv.slice(2);
const more = given.filter((option) => option !== '--all');
const isWhole = more.length === 0;
const isFast = given.length === 0;

rmSync(join(root, 'reports'), { recursive: true, force: true });
await install();
await quietly('turbo', ['run', 'build', '--log-order=grouped', '--log-prefix=none']);
process.exitCode = await run('vitest', ['run', ...(isFast ? ['--tags-filter=!slow'] : []), ...more]);

const report = join(root, 'reports/vitest.json');
// Without a report vitest could not begin, and has said why.
if (isWhole && existsSync(report)) {
  const page = readFileSync(join(root, 'docs/promises.md'), 'utf8');
  const { slow, skipped } = promisesNotTested(page, JSON.parse(readFileSync(report, 'utf8')));
  if (slow.length > 0) console.log(`No test that is not slow looks at ${slow.join(', ')} of docs/promises.md.`);
  if (skipped.length > 0) console.log(`Only skipped tests look at ${skipped.join(', ')} of docs/promises.md.`);
  // What a server is missing for is skipped. CI has all of them.
  if (slow.length > 0 || (skipped.length > 0 && process.env.CI !== undefined)) process.exitCode ||= 1;
}
