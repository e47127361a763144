// npm test: installs and builds what is missing, then runs the tests that are not slow. `npm test -- --all` runs every test. What else follows
// `--` goes to vitest: a file's name, say.
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { install } from './install.mjs';
import { quietly, root, run } from './run.mjs';

const given = process.argv.slice(2);
const more = given.filter((option) => option !== '--all');
const isWhole = more.length === 0;
const isFast = given.length === 0;

rmSync(join(root, 'reports'), { recursive: true, force: true });
await install();
await quietly('turbo', ['run', 'build', '--log-order=grouped', '--log-prefix=none']);
process.exitCode = await run('vitest', ['run', ...(isFast ? ['--tags-filter=!slow'] : []), ...more]);

const slow = isWhole ? onlySlow() : [];
if (slow.length > 0) {
  console.log(`No test that is not slow looks at ${slow.join(', ')} of docs/promises.md.`);
  process.exitCode ||= 1;
}

/** The promises that `npm test` does not look at. */
function onlySlow() {
  const page = readFileSync(join(root, 'docs/promises.md'), 'utf8');
  const { testResults } = JSON.parse(readFileSync(join(root, 'reports/vitest.json'), 'utf8'));
  const tests = testResults.flatMap((file) => file.assertionResults).filter(({ tags }) => !tags.includes('slow'));
  const looked = new Set(tests.flatMap(({ fullName }) => fullName.split(' ')));
  return [...page.matchAll(/^\| \*\*([A-Z]\d+)\*\* /gm)]
    .map(([, number]) => number)
    .filter((number) => !looked.has(number));
}
