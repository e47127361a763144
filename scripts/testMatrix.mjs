// npm run test:matrix: the tests on each version of Node that we promise, one after the other. What follows `--` goes to vitest.
import './build.mjs';
import { existsSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { root, run } from './run.mjs';

/** The oldest that package.json allows, then the newest of each line that is maintained. */
const versions = ['20.19.0', '22', '24', '26'];

/** Worlds whose traces must be the same on each version. */
const seeds = ['7', '60', '2024'];

const rows = [];
let firstTraces;
for (const version of versions) {
  const node = ['--yes', '--package', `node@${version}`, '--', 'node'];
  const said = [];
  await run('npx', [...node, '--version'], {
    stdio: ['ignore', 'pipe', 'ignore'],
    onOutput: (chunk) => said.push(chunk),
  });
  const name = Buffer.concat(said).toString().trim();
  if (!name) {
    rows.push([version, '', '', '', '', 'not to be had']);
    process.exitCode = 1;
    continue;
  }
  console.log(`\nNode ${name}`);
  const report = join(root, 'reports/vitest.json');
  rmSync(report, { force: true });
  const start = performance.now();
  const code = await run('npx', [...node, 'node_modules/vitest/vitest.mjs', 'run', ...process.argv.slice(2)]);
  const seconds = `${((performance.now() - start) / 1000).toFixed(0)} s`;
  const traces = await tracesOn(node);
  firstTraces ??= traces;
  const isSame = traces === firstTraces && /^(Trace [0-9a-f]{16}\.\n){3}$/.test(traces);
  const verdict = code !== 0 ? `exit code ${code}` : isSame ? 'passed' : 'other traces of worlds';
  rows.push([name, ...countsIn(report), seconds, verdict]);
  if (!isSame) process.exitCode = 1;
  if (existsSync(report)) renameSync(report, join(root, `reports/node-${version}.json`));
  if (code !== 0) process.exitCode = 1;
  if (code > 128) break;
}
console.log();
for (const row of [['Node', 'passed', 'failed', 'skipped', 'time', ''], ...rows])
  console.log(
    row
      .map((text, n) => (n === 0 || n === 5 ? String(text).padEnd(11) : String(text).padStart(8)))
      .join(' ')
      .trimEnd(),
  );

/** The last lines of some simulated worlds: a digest of all that happened in each. */
async function tracesOn(node) {
  let traces = '';
  for (const seed of seeds) {
    const said = [];
    const harness = ['--import', 'tsx', '--conditions=@sluice/source', 'prove/worlds.ts', '--seed', seed, '--trace'];
    await run('npx', [...node, ...harness], {
      stdio: ['ignore', 'pipe', 'inherit'],
      onOutput: (chunk) => said.push(chunk),
    });
    traces += `${/^Trace .*$/m.exec(Buffer.concat(said).toString())?.[0] ?? 'no trace'}\n`;
  }
  return traces;
}

function countsIn(path) {
  if (!existsSync(path)) return ['', '', ''];
  const { numPassedTests, numFailedTests, numPendingTests } = JSON.parse(readFileSync(path, 'utf8'));
  return [numPassedTests, numFailedTests, numPendingTests];
}
