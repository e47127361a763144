// Usage: node scripts/countTests.mjs NAME=EXIT_CODE…: names what failed, and adds up what ran, by the report of each in
// reports/NAME.json.
import { existsSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

import { root } from './run.mjs';

const totals = { passed: 0, failed: 0, skipped: 0 };
for (const argument of process.argv.slice(2)) {
  const [name, code] = argument.split('=');
  const report = join(root, 'reports', `${name}.json`);
  for (const failure of failuresOf(report)) console.log(`${name}: ${failure}`);
  const counts = countsOf(report, code === '0');
  for (const outcome of Object.keys(totals)) totals[outcome] += counts[outcome];
}
const { passed, failed, skipped } = totals;
console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
process.exitCode = failed === 0 ? 0 : 1;

/** What has no report is no suite, but one check. */
function countsOf(report, isPassed) {
  if (!existsSync(report)) return { passed: isPassed ? 1 : 0, failed: isPassed ? 0 : 1, skipped: 0 };
  const files = JSON.parse(readFileSync(report, 'utf8')).testResults;
  const outcomes = files.flatMap((file) => file.assertionResults.map(({ status }) => status));
  const count = (outcome) => outcomes.filter((each) => each === outcome).length;
  // A file may fail with none of its tests to blame: it could not be read, or a hook of its own threw.
  const brokenFiles = files.filter(
    (file) => file.status === 'failed' && file.assertionResults.every(({ status }) => status !== 'failed'),
  );
  return {
    passed: count('passed'),
    // Where nothing is to blame and yet the run failed, it was a check, the build, or an error outside of the tests.
    failed: count('failed') + brokenFiles.length || (isPassed ? 0 : 1),
    skipped: outcomes.length - count('passed') - count('failed'),
  };
}

/** Each test that failed, with the first line of why. */
function failuresOf(report) {
  if (!existsSync(report)) return [];
  const files = JSON.parse(readFileSync(report, 'utf8')).testResults;
  return files.flatMap((file) => {
    const path = relative(root, file.name);
    const failed = file.assertionResults.filter(({ status }) => status === 'failed');
    if (failed.length === 0) return file.status === 'failed' ? [`${path}: ${firstLine(file.message)}`] : [];
    return failed.map(
      ({ fullName, failureMessages }) => `${path}: ${firstLine(fullName)}: ${firstLine(failureMessages?.[0])}`,
    );
  });
}

/** What was thrown need not be an error: then there is no text. */
function firstLine(text) {
  return (
    String(text ?? '')
      .trim()
      .split('\n', 1)[0] || 'it gives no reason'
  );
}
