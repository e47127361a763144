import type { CoveringTest, Source } from './coverage.js';
import { mutated, type Mutant } from './mutator.js';
import type { TestRuns } from './testRun.js';

/** Ms to load a test file, or between two tests. */
const longestHook = 30_000;

/** The verdict of the tests on a mutant. */
export type Verdict =
  | {
      /** `timed out`: a test took many times as long as without the mutant. */
      readonly how: 'killed' | 'timed out';
      readonly by: string;
      /** `npm test` leaves it out, and none that it runs finds the mutant. */
      readonly isSlow: boolean;
    }
  | { readonly how: 'survived'; readonly tests: number; readonly of: number };

/** Runs the tests that execute a mutant, on the source with the mutant in it, until one of them fails: those that `npm test` runs first. */
export async function judge(
  source: Source,
  mutant: Mutant & { readonly probe: number | undefined },
  {
    tests,
    runs,
    budget,
  }: { readonly tests: readonly CoveringTest[]; readonly runs: TestRuns; readonly budget: number },
): Promise<Verdict> {
  const covering = tests.filter(({ reached }) => comesBy(source, mutant.probe, reached));
  const chosen = withinBudget(covering, budget);
  for (const isSlow of [false, true]) {
    const found = await findFailure(
      source,
      mutant,
      chosen.filter((test) => test.isSlow === isSlow),
      runs,
    );
    if (found) return { ...found, isSlow };
  }
  return { how: 'survived', tests: chosen.length, of: covering.length };
}

async function findFailure(
  source: Source,
  mutant: Mutant,
  tests: readonly CoveringTest[],
  runs: TestRuns,
): Promise<Pick<Extract<Verdict, { readonly by: string }>, 'how' | 'by'> | undefined> {
  if (tests.length === 0) return undefined;
  const files = byFile(tests);
  const order = {
    texts: { [source.path]: mutated(source.text, mutant) },
    tests: Object.fromEntries([...files].map(([file, ofFile]) => [file, ofFile.map(({ title }) => title)])),
  };
  let current = '';
  let by: string | undefined;
  const end = await runs.run(order, {
    on: (message) => {
      current = 'title' in message ? message.title : message.file;
      if (message.is !== 'failed' && (message.is !== 'over' || message.state === 'passed')) return undefined;
      by = current;
      return 'enough';
    },
    limitOf: (message) => {
      const test = message.is === 'begun' && files.get(message.file)?.find(({ title }) => title === message.title);
      return test ? limitOf(test.ms) : longestHook;
    },
  });
  if (by !== undefined) return { how: 'killed', by };
  if (end.how === 'hung') return { how: 'timed out', by: current };
  if (end.how === 'died') return { how: 'killed', by: `${current}: its process died` };
  return undefined;
}

/** Code that runs while a module is loaded has no probe: then all tests that execute anything of the source are run. */
function comesBy({ probes }: Source, probe: number | undefined, reached: readonly number[]): boolean {
  return probe === undefined ? reached.some((each) => probes.has(each)) : reached.includes(probe);
}

/** The fastest ones, of `budget` ms in total. */
export function withinBudget(tests: readonly CoveringTest[], budget: number): CoveringTest[] {
  let left = budget;
  return tests.toSorted((a, b) => a.ms - b.ms).filter(({ ms }) => (left -= ms) >= 0);
}

/** Those that execute little else come first, because they are most likely about this source. */
export function byFile(tests: readonly CoveringTest[]): Map<string, CoveringTest[]> {
  const files = new Map<string, CoveringTest[]>();
  for (const test of tests) files.set(test.file, [...(files.get(test.file) ?? []), test]);
  const breadth = (ofFile: readonly CoveringTest[]): number =>
    ofFile.reduce((min, { reached }) => Math.min(min, reached.length), Infinity);
  return new Map([...files].toSorted(([, a], [, b]) => breadth(a) - breadth(b)));
}

/**
 * The time limit in ms of a test that takes `ms` without a mutant: enough for a busy machine, but not for one that
 * hangs.
 */
function limitOf(ms: number): number {
  return 20_000 + 10 * ms;
}
