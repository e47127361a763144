import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { defineConfig } from 'vitest/config';
import { BaseSequencer, type Reporter, type TestSpecification } from 'vitest/node';

import { fromSources, slow } from '../../vitest.config.js';
import type { TestMessage, TestOrder } from './testOrder.js';

// Runs the tests of an order, one after the other, with the texts that it contains. No file is changed, so none must be
// restored.

const order: TestOrder = JSON.parse(readFileSync(process.env['SLUICE_TEST_ORDER'] ?? '', 'utf8'));
const files = Object.keys(order.tests);

// If the parent process has gone, the run ends, with all processes that it started.
process.once('disconnect', () => process.kill(-process.pid, 'SIGKILL'));

function say(message: TestMessage): void {
  process.send?.(message);
}

const messenger: Reporter = {
  onTestModuleQueued: ({ moduleId }) => {
    say({ is: 'file', file: moduleId });
  },
  onTestCaseReady: ({ module, fullName }) => {
    say({ is: 'begun', file: module.moduleId, title: fullName });
  },
  onTestCaseResult: (test) => {
    const { state } = test.result();
    if (state !== 'passed' && state !== 'failed') return;
    const ms = test.diagnostic()?.duration ?? 0;
    say({
      is: 'over',
      file: test.module.moduleId,
      title: test.fullName,
      state,
      ms,
      isSlow: test.tags.includes(slow.name),
      reached: test.meta().reached ?? [],
    });
  },
  onTestModuleEnd: (module) => {
    for (const { message } of module.errors()) say({ is: 'failed', file: module.moduleId, title: message });
  },
  onTestSuiteResult: (suite) => {
    for (const { message } of suite.errors()) say({ is: 'failed', file: suite.module.moduleId, title: message });
  },
  onTestRunEnd: (_, errors) => {
    for (const { message } of errors) say({ is: 'failed', file: '', title: message });
    say({ is: 'ended' });
  },
};

class AsOrdered extends BaseSequencer {
  override sort(found: TestSpecification[]): Promise<TestSpecification[]> {
    return Promise.resolve(found.toSorted((a, b) => files.indexOf(a.moduleId) - files.indexOf(b.moduleId)));
  }
}

export default defineConfig({
  root: fileURLToPath(new URL('../..', import.meta.url)),
  ...fromSources,
  plugins: [{ name: 'sluice-texts', enforce: 'pre', load: (id) => order.texts[id] }],
  test: {
    include: files,
    tags: [{ ...slow, timeout: 20_000 }],
    setupFiles: [fileURLToPath(new URL('../../scripts/testScope.setup.ts', import.meta.url))],
    runner: fileURLToPath(new URL('testRunner.ts', import.meta.url)),
    sequence: { sequencer: AsOrdered },
    reporters: [messenger],
    pool: 'forks',
    maxWorkers: 1,
    isolate: false,
    testTimeout: 20_000,
    hookTimeout: 20_000,
  },
});
