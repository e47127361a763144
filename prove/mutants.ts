// Measures what core's tests detect: it puts small faults into the sources, one at a time, and runs the tests that
// execute the faulty code until one fails. A mutant that no test detects shows a missing test, or behaves like the
// source.
//
//   npm run prove -- mutants --count 30 --seed 7
//
// No file is changed: the tests receive the mutated text instead. `--at http/requestWindows.ts:46` tries all mutants of a file,
// or of a line.
import { randomInt } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { coverage, sourcesOf } from './mutants/coverage.js';
import { judge, type Verdict } from './mutants/judge.js';
import { folderOf, sampled, staleEquivalents, type Candidate } from './mutants/sample.js';
import { TestRuns } from './mutants/testRun.js';
import { refuse, wholeNumber } from './terminal/options.js';
import { printTable } from './terminal/printTable.js';

const folders = ['http', 'auth', 'quota', 'rows/source', 'rows/sink', 'rows/export', 'rows/watch'];
const core = fileURLToPath(new URL('../packages/core', import.meta.url));
const reports = fileURLToPath(new URL('../reports/mutants', import.meta.url));

const { values } = parseArgs({
  options: {
    /** Mutants per folder. */
    count: { type: 'string', default: '30' },
    /** Selects them. Default: random. */
    seed: { type: 'string', default: String(randomInt(1_000_000)) },
    /** Only in this folder of core. */
    folder: { type: 'string' },
    /** All mutants of this file, or of this line, however many. */
    at: { type: 'string' },
    /** Seconds for the tests of one mutant; the slowest tests beyond that are not run. */
    seconds: { type: 'string', default: '30' },
    /** The minimum score of each folder, in percent. */
    min: { type: 'string', default: '0' },
  },
});
const count = wholeNumber('count', values.count, 1);
const seed = wholeNumber('seed', values.seed, 0);
const budget = 1_000 * wholeNumber('seconds', values.seconds, 1);
const min = wholeNumber('min', values.min, 0);
const { folder: onlyFolder, at } = values;
if (onlyFolder !== undefined && !folders.includes(onlyFolder))
  refuse(`--folder is "${onlyFolder}": give ${folders.join(', ')}.`);
const sources = await sourcesOf(join(core, 'src'), folders);
const candidates = sampled(sources, { count, seed, folder: onlyFolder, at });
if (candidates.length === 0)
  refuse(
    `Nothing can be changed at "${at ?? ''}": give a file as http/requestWindows.ts, or a line as http/requestWindows.ts:46.`,
  );

const began = performance.now();
const folder = await mkdtemp(join(tmpdir(), 'sluice-mutants-'));
const runs = new TestRuns(folder);
let interrupted: NodeJS.Signals | undefined;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.once(signal, () => {
    interrupted = signal;
    void runs.end();
  });
const judged: { readonly candidate: Candidate; readonly verdict: Verdict; readonly ms: number }[] = [];
try {
  await prove();
} catch (error) {
  if (!interrupted) throw error;
} finally {
  await runs.end();
  await rm(folder, { recursive: true, force: true, maxRetries: 3 });
}
if (judged.length > 0) await tell();
if (interrupted) process.exit(interrupted === 'SIGINT' ? 130 : 143);

async function prove(): Promise<void> {
  console.error(
    `seed ${seed}: ${candidates.length} mutants. All tests are run once, to see which ones come by what; that is kept until something changes.`,
  );
  const tests = await coverage(core, sources, {
    runs,
    kept: reports,
    onTest: (done) => done % 500 === 0 && console.error(`${done} tests`),
  });
  console.error(`${tests.length} tests, ${((performance.now() - began) / 1_000).toFixed(0)} s`);
  for (const candidate of candidates) {
    const start = performance.now();
    const verdict = await judge(candidate.source, candidate.mutant, { tests, runs, budget });
    if (interrupted) return;
    const ms = performance.now() - start;
    judged.push({ candidate, verdict, ms });
    console.log(`${verdict.how.padEnd(9)}  ${nameOf(candidate)}  ${said(verdict)} (${(ms / 1_000).toFixed(1)} s)`);
  }
}

function nameOf({ where, change, mutant }: Candidate): string {
  return `${where}  ${mutant.kind}: ${change}`;
}

function said(verdict: Verdict): string {
  if (verdict.how !== 'survived') return `by ${verdict.isSlow ? 'the slow ' : ''}"${verdict.by}"`;
  if (verdict.of === 0) return 'no test comes by';
  return `${verdict.tests} tests${verdict.tests < verdict.of ? ` of ${verdict.of} that come by` : ''}`;
}

/** Prints the score, and keeps all verdicts in a file. */
async function tell(): Promise<void> {
  const rows = folders
    .map((name) => ({
      name,
      verdicts: judged.filter(({ candidate }) => folderOf(candidate) === name).map(({ verdict }) => verdict),
    }))
    .filter(({ verdicts }) => verdicts.length > 0)
    .map(({ name, verdicts }) => {
      const [killed = 0, timedOut = 0, survived = 0] = (['killed', 'timed out', 'survived'] as const).map(
        (how) => verdicts.filter((verdict) => verdict.how === how).length,
      );
      return {
        name,
        all: verdicts.length,
        killed,
        timedOut,
        survived,
        slow: verdicts.filter((verdict) => verdict.how !== 'survived' && verdict.isSlow).length,
        score: (100 * (killed + timedOut)) / verdicts.length,
      };
    });
  console.log(`\nseed ${seed}, ${((performance.now() - began) / 1_000).toFixed(0)} s\n`);
  printTable(
    ['folder', 'mutants', 'killed', 'timed out', 'survived', 'score', 'by slow tests only'],
    rows.map(({ name, all, killed, timedOut, survived, score, slow }) => [
      name,
      all,
      killed,
      timedOut,
      survived,
      `${score.toFixed(0)} %`,
      slow,
    ]),
  );
  const survivors = judged.filter(({ verdict }) => verdict.how === 'survived');
  if (survivors.length > 0) console.log('\nSurvived; each needs a test, or a line in mutants/equivalent.ts:');
  for (const { candidate } of survivors) console.log(`  ${nameOf(candidate)}`);
  const missed = judged.filter(({ verdict }) => verdict.how !== 'survived' && verdict.isSlow);
  if (missed.length > 0) console.log('\nMissed by `npm test`, since only slow tests find them:');
  for (const { candidate, verdict } of missed) console.log(`  ${nameOf(candidate)}  ${said(verdict)}`);
  const report = judged.map(({ candidate: { where, change, mutant }, verdict, ms }) => ({
    where,
    kind: mutant.kind,
    change,
    ms,
    ...verdict,
  }));
  await mkdir(reports, { recursive: true });
  await writeFile(join(reports, 'verdicts.json'), JSON.stringify(report, undefined, 2));
  const lacks = [
    ...rows
      .filter(({ score }) => score < min)
      .map(({ name, score }) => `${name} has ${score.toFixed(0)} %, less than ${min} %.`),
    ...staleEquivalents(sources).map(
      ({ file, line, change }) => `${file} has no mutant "${change}" in "${line}" any more: see mutants/equivalent.ts.`,
    ),
  ];
  for (const lack of lacks) console.log(`\n${lack}`);
  process.exitCode = lacks.length > 0 ? 1 : 0;
}
