import { readFileSync } from 'node:fs';

import { TestRunner, type RunnerTestCase, type RunnerTestFile, type RunnerTestSuite } from 'vitest';

import type { TestOrder } from './testOrder.js';

/** Runs the tests that the order names, and records which probes each passes. */
export default class OrderedRunner extends TestRunner {
  readonly #tests: TestOrder['tests'];
  /** Probes that were passed in the file outside of tests: in its hooks, or while it was loaded. */
  #around: number[] = [];

  constructor(...config: ConstructorParameters<typeof TestRunner>) {
    super(...config);
    const order: TestOrder = JSON.parse(readFileSync(process.env['SLUICE_TEST_ORDER'] ?? '', 'utf8'));
    this.#tests = order.tests;
    globalThis.passedProbes ??= new Set();
  }

  onCollected(files: RunnerTestFile[]): void {
    this.#around = [];
    for (const file of files) {
      const wanted = this.#tests[file.filepath] ?? 'all';
      if (wanted !== 'all') keepOnly(file, new Set(wanted));
    }
  }

  override onBeforeTryTask(test: RunnerTestCase): void {
    super.onBeforeTryTask(test);
    this.#around.push(...taken());
  }

  override onAfterTryTask(test: RunnerTestCase): void {
    super.onAfterTryTask(test);
    test.meta.reached = [...new Set([...this.#around, ...taken()])];
  }
}

function taken(): number[] {
  const passed = [...(globalThis.passedProbes ?? [])];
  globalThis.passedProbes?.clear();
  return passed;
}

/** Whether something is left to run. */
function keepOnly(suite: RunnerTestSuite, titles: ReadonlySet<string>): boolean {
  const isKept = (task: RunnerTestSuite['tasks'][number]): boolean =>
    task.type === 'suite' ? keepOnly(task, titles) : titles.has(task.fullTestName);
  const left = suite.tasks.filter((task) => !isKept(task));
  for (const task of left) task.mode = 'skip';
  return left.length < suite.tasks.length;
}
