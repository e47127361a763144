// Usage: node scripts/countTests.mjs EXIT_CODE_OF_NPM_TEST
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { root } from './run.mjs';

const exitCode = Number(process.argv[2]);
const path = join(root, 'reports/vitest.json');
const files = existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')).testResults : [];

const outcomes = files.flatMap((file) => file.assertionResults.map(({ status }) => status));
const count = (outcome) => outcomes.filter((each) => each === outcome).length;
// A file may fail with none of its tests to blame: it could not be read, or a hook of its own threw.
const brokenFiles = files.filter(
  (file) => file.status === 'failed' && file.assertionResults.every(({ status }) => status !== 'failed'),
);

const passed = count('passed');
// Where nothing is to blame and yet the run failed, it was a check, the build, or an error outside of the tests.
const failed = count('failed') + brokenFiles.length || (exitCode === 0 ? 0 : 1);
const skipped = outcomes.length - passed - count('failed');

console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
process.exitCode = failed === 0 ? 0 : 1;
