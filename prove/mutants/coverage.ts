import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';

import { mutantsOf, probed, probesOf, type Mutant, type Probe } from './mutator.js';
import type { TestOrder } from './testOrder.js';
import type { TestRuns } from './testRun.js';

/** A test that passes without mutants. */
export interface CoveringTest {
  readonly file: string;
  readonly title: string;
  readonly ms: number;
  /** `npm test` leaves it out. */
  readonly isSlow: boolean;
  /** The probes that it passes. */
  readonly reached: readonly number[];
}

/** A source, its mutants, and for each mutant the probe that says which tests execute it. */
export interface Source {
  readonly path: string;
  /** As printed: `http/requestWindows.ts`. */
  readonly name: string;
  readonly text: string;
  readonly mutants: readonly (Mutant & { readonly probe: number | undefined })[];
  readonly probes: ReadonlyMap<number, Probe>;
}

/** Ms without a message: the slowest tests take about 20 s. */
const timeout = 240_000;

export async function sourcesOf(src: string, folders: readonly string[]): Promise<Source[]> {
  const sources: Source[] = [];
  let probe = 0;
  for (const folder of folders) {
    for (const path of (await filesIn(join(src, folder))).filter((path) => path.endsWith('.ts'))) {
      const text = await readFile(path, 'utf8');
      const mutants = mutantsOf(text);
      const probes = new Map<number, Probe>();
      const numbers = new Map<number, number>();
      const numbered = probesOf(text, mutants).map((at) => {
        if (!at) return undefined;
        const number = numbers.get(at.start) ?? (probe += 1);
        numbers.set(at.start, number);
        probes.set(number, at);
        return number;
      });
      sources.push({
        path,
        name: relative(src, path),
        text,
        probes,
        mutants: mutants.map((mutant, index) => ({ ...mutant, probe: numbered[index] })),
      });
    }
  }
  return sources;
}

/**
 * Which tests pass which probe. This runs all tests once, so the result is stored until a source or a test changes.
 * Tests that fail with probes in the sources are left out, e.g. one that measures memory.
 */
export async function coverage(
  packageFolder: string,
  sources: readonly Source[],
  { runs, kept, onTest }: { readonly runs: TestRuns; readonly kept: string; readonly onTest: (tests: number) => void },
): Promise<CoveringTest[]> {
  const files = [...(await filesIn(join(packageFolder, 'src'))), ...(await filesIn(join(packageFolder, 'test')))];
  const texts = sources.map((source) => [source.path, probed(source.text, source.probes, mark)] as const);
  const testFiles = files.filter((path) => /(?<!\.alone)\.test\.ts$/.test(path));
  const order = {
    texts: Object.fromEntries(texts),
    tests: Object.fromEntries(testFiles.map((path) => [path, 'all' as const])),
  };
  const path = join(kept, `${await hashOf(order, files)}.json`);
  const known = await readFile(path, 'utf8').catch(() => undefined);
  if (known !== undefined) return JSON.parse(known);
  const tests: CoveringTest[] = [];
  const failed: string[] = [];
  const end = await runs.run(order, {
    on: (message) => {
      if (message.is !== 'over') return undefined;
      if (message.state === 'failed') {
        failed.push(message.title);
        return undefined;
      }
      const { file, title, ms, isSlow, reached } = message;
      tests.push({ file, title, ms, isSlow, reached });
      onTest(tests.length);
      return undefined;
    },
    limitOf: () => timeout,
  });
  if (end.how !== 'ended') throw new Error(`The tests did not end: ${end.how}. ${'stderr' in end ? end.stderr : ''}`);
  // Otherwise the tests lack something that they have elsewhere, and every mutant would seem to survive.
  if (failed.length > tests.length / 20)
    throw new Error(`${failed.length} tests fail without a mutant, e.g. "${failed[0] ?? ''}".`);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, JSON.stringify(tests));
  return tests;
}

function mark(probe: number): string {
  return `globalThis.passedProbes?.add(${probe})`;
}

async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted();
}

async function hashOf(order: TestOrder, paths: readonly string[]): Promise<string> {
  const hash = createHash('sha256').update(JSON.stringify(order));
  for (const path of paths) hash.update(await readFile(path));
  return hash.digest('hex').slice(0, 16);
}
