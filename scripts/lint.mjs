// npm run lint: ESLint on all files. What follows `--` goes to ESLint.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';

import './build.mjs';
import { packages } from './packages.mjs';
import { root, run } from './run.mjs';

const cache = join(root, 'node_modules/.cache/eslint');
const stamp = join(cache, 'stamp');

// The rules ask for types, so a file's result depends on all that it imports, too: on the declarations that the build writes. Results are kept
// as long as these stay the same. A body that changes, or a test, changes the result of its own file only.
const shared = hashOfShared();
if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== shared) {
  rmSync(cache, { recursive: true, force: true });
  mkdirSync(cache, { recursive: true });
  writeFileSync(stamp, shared);
}
const cached = ['--cache', '--cache-strategy', 'content', '--cache-location', join(cache, 'results')];
// With a larger nursery, in MB, the collector does less: ESLint takes a seventh less time.
const eslint = ['--max-semi-space-size=64', join(root, 'node_modules/eslint/bin/eslint.js')];
process.exitCode = await run('node', [...eslint, '--max-warnings', '0', ...cached, ...process.argv.slice(2), '.']);

/** Of all files that can decide what ESLint says of another one. */
function hashOfShared() {
  const hash = createHash('sha256').update(process.version);
  const declarations = packages
    .flatMap(({ folder }) =>
      readdirSync(join(folder, 'dist'), { recursive: true }).map((name) => relative(root, join(folder, 'dist', name))),
    )
    .filter((name) => name.endsWith('.d.ts'))
    .toSorted();
  for (const name of new Set([...filesOfGit().split('\0'), ...declarations])) {
    const path = join(root, name);
    if (
      /\.(ts|js|mjs|cjs|json|yaml)$/.test(name) &&
      !isDeclared(name) &&
      !name.endsWith('.test.ts') &&
      existsSync(path)
    )
      hash.update(`${name}\0`).update(readFileSync(path)).update('\0');
  }
  return hash.digest('hex');
}

/** Whether others see of a file what its declarations say. The dashboard's page is bundled without any. */
function isDeclared(name) {
  return /^packages\/[^/]+\/src\/.*\.ts$/.test(name) && !name.startsWith('packages/dashboard/src/page/');
}

function filesOfGit() {
  try {
    return execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
      cwd: root,
    }).toString();
  } catch {
    // Without git nothing is known of what changed, so nothing is kept.
    rmSync(cache, { recursive: true, force: true });
    return '';
  }
}
