import { expect, test, vi } from 'vitest';
import { memoryState } from '@sluice/core';
import { testStateStore, type TestFunction } from '../src/index.js';
import { runChild } from '../../core/test/http/runChild.js';

test(
  'G5 a suite runs under node:test as it does under Vitest, and what it skips is seen there',
  { tags: ['slow'] },
  async () => {
    const script = new URL('children/nodeTest.ts', import.meta.url);
    const { code, stdout } = await runChild(script, { node: ['--test', '--test-reporter=tap'] });
    expect(stdout).toMatch(/^# fail 0$/m);
    expect(stdout).toMatch(/^# skipped 3$/m);
    expect(stdout).toMatch(/still has its records in the next process # SKIP `another` of the fixture$/m);
    expect(code).toBe(0);
  },
);

const skippedTitle = 'still has its records in the next process';

/** The check of a suite that skips it, as a runner gets it. */
function skippedCheck(onSkip?: (title: string, why: string) => void): Parameters<TestFunction>[1] {
  const checks = new Map<string, Parameters<TestFunction>[1]>();
  const collect: TestFunction = (title, check) => checks.set(title, check);
  testStateStore({ test: collect, factory: () => ({ store: memoryState() }), ...(onSkip && { onSkip }) });
  return checks.get(skippedTitle)!;
}

test('G5 a skip is told in the way of the runner: by the first argument, by `this`, or by a function of the user', async () => {
  const skip = vi.fn();
  const check = skippedCheck();
  // Vitest, node:test and tape hand over a context; Mocha calls with one, and takes a parameter for a callback.
  expect(check).toHaveLength(0);
  await Reflect.apply(check, undefined, [{ skip }]);
  await Reflect.apply(check, { skip }, []);
  expect(skip.mock.calls).toEqual([['`another` of the fixture'], ['`another` of the fixture']]);

  const onSkip = vi.fn();
  await Reflect.apply(skippedCheck(onSkip), { skip }, [{ skip }]);
  expect(onSkip.mock.calls).toEqual([[skippedTitle, '`another` of the fixture']]);
  expect(skip).toHaveBeenCalledTimes(2);

  // Where a runner has no way of skipping, the check passes.
  await expect(Reflect.apply(check, undefined, [])).resolves.toBeUndefined();
});

test('G5 a fixture is disposed of, also when its check fails, and that this fails hides nothing', async () => {
  const disposed: string[] = [];
  const checks = new Map<string, Parameters<TestFunction>[1]>();
  testStateStore({
    test: (title, check) => checks.set(title, check),
    factory: () => ({
      store: { ...memoryState(), load: () => Promise.resolve(7) },
      dispose: () => {
        disposed.push('disposed');
        throw new Error('Not the fault that counts.');
      },
    }),
  });
  const check = checks.get('has no record under an unused name');
  await expect(check?.()).rejects.toThrow('There is a record "watch"');
  expect(disposed).toEqual(['disposed']);
});
