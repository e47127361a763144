// npm run lint: ESLint on all files. What follows `--` goes to ESLint.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { root, run } from './run.mjs';

const cache = join(root, 'node_modules/.cache/eslint');
const stamp = join(cache, 'stamp');

// The rules ask for types, so a file's result depends on all that it imports, too. Results are kept only as long as nothing changes but
// tests, which nobody imports: a test whose own bytes are the same then has the same result.
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
  for (const name of new Set(filesOfGit().split('\0'))) {
    const path = join(root, name);
    if (/\.(ts|js|mjs|cjs|json|yaml)$/.test(name) && !name.endsWith('.test.ts') && existsSync(path))
      hash.update(`${name}\0`).update(readFileSync(path)).update('\0');
  }
  return hash.digest('hex');
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
