// @module-tag slow
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { coverage, sourcesOf, type CoveringTest } from './coverage.js';
import { byFile, judge, withinBudget } from './judge.js';
import { TestRuns } from './testRun.js';
import { temporaryFolder } from '../../test/kit/temporaryFolder.js';

/** Each run starts Vitest, on a machine that may be busy. */
const slow = { timeout: 240_000 };

const example = join(import.meta.dirname, 'example');
const testFile = join(example, 'test/clamped.test.ts');
const title = 'the larger number gives way';

function testRuns(folder: string): TestRuns {
  const runs = new TestRuns(folder);
  onTestFinished(() => runs.end());
  return runs;
}

test('a mutant is killed by a test that executes it, or survives, and no file is changed', slow, async () => {
  const folder = temporaryFolder();
  const kept = temporaryFolder();
  const runs = testRuns(folder);
  const [source] = await sourcesOf(join(example, 'src'), ['numbers']);
  const tests = await coverage(example, [source!], { runs, kept, onTest: () => undefined });
  const slowTitle = 'a number without a limit stays';
  expect(tests).toMatchObject([
    { file: testFile, title, isSlow: false },
    { file: testFile, title: slowTitle, isSlow: true },
  ]);

  const verdictOf = (kind: string): ReturnType<typeof judge> => {
    const mutant = source!.mutants.find((each) => each.kind === kind);
    return judge(source!, mutant!, { tests, runs, budget: 60_000 });
  };
  expect(await verdictOf('swapped min and max')).toEqual({ how: 'killed', by: title, isSlow: false });
  expect(await verdictOf('dropped ??')).toEqual({ how: 'killed', by: slowTitle, isSlow: true });
  // The tests pass numbers.
  expect(await verdictOf('removed statement')).toEqual({ how: 'survived', tests: 0, of: 0 });
  expect(await verdictOf('never')).toEqual({ how: 'survived', tests: 2, of: 2 });

  expect(readFileSync(source!.path, 'utf8')).toBe(source!.text);
  expect(readdirSync(folder)).toEqual(['order.json']);
  expect(await coverage(example, [source!], { runs: new TestRuns('nowhere'), kept, onTest: () => undefined })).toEqual(
    tests,
  );
});

test('a test that never ends is stopped, with everything that it started', slow, async () => {
  const folder = temporaryFolder();
  const path = join(example, 'src/numbers/clamped.ts');
  const texts = { [path]: 'export function clamped() { for (;;); }' };
  const end = await testRuns(folder).run(
    { texts, tests: { [testFile]: [title] } },
    { on: () => undefined, limitOf: () => 3_000 },
  );
  expect(end).toEqual({ how: 'hung' });
  expect(readdirSync(folder)).toEqual(['order.json']);
});

test('tests that cannot run are reported', slow, async () => {
  const runs = testRuns(temporaryFolder());
  const failures: string[] = [];
  const path = join(example, 'src/numbers/clamped.ts');
  await runs.run(
    { texts: { [path]: "throw new Error('as it is loaded');" }, tests: { [testFile]: 'all' } },
    {
      on: (message) => {
        if (message.is === 'failed') failures.push(message.title);
        return undefined;
      },
      limitOf: () => 60_000,
    },
  );
  expect(failures).toEqual(['as it is loaded']);
});

describe('of the tests that execute a mutant', () => {
  function aTest(file: string, ms: number, ...reached: number[]): CoveringTest {
    return { file, title: `of ${ms} ms`, ms, isSlow: false, reached };
  }

  test('the fastest ones run, as many as fit into the time', () => {
    const tests = [aTest('a', 30), aTest('a', 10), aTest('b', 20), aTest('b', 40)];
    expect(withinBudget(tests, 60).map(({ ms }) => ms)).toEqual([10, 20, 30]);
    expect(withinBudget(tests, 59).map(({ ms }) => ms)).toEqual([10, 20]);
    expect(withinBudget(tests, 9)).toEqual([]);
  });

  test('the file that executes least else comes first', () => {
    const tests = [
      aTest('walk', 1, 1, 2, 3),
      aTest('gate', 9, 1),
      aTest('walk', 2, 1, 2),
      aTest('gate', 1, 1, 2, 3, 4),
    ];
    expect([...byFile(tests).keys()]).toEqual(['gate', 'walk']);
    expect(
      byFile(tests)
        .get('gate')
        ?.map(({ ms }) => ms),
    ).toEqual([9, 1]);
  });
});
