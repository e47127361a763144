import { AsyncLocalStorage } from 'node:async_hooks';
import type { TestContext } from 'vitest';

/** A test, for as long as it runs and after. */
interface Scope {
  readonly test: TestContext;
  hasEnded: boolean;
}

const scopes = new AsyncLocalStorage<Scope>();

/** Runs a test so that all that it calls, however late, belongs to it. */
export async function inScopeOf(test: TestContext, run: () => Promise<void>): Promise<void> {
  const scope = { test, hasEnded: false };
  try {
    await scopes.run(scope, run);
  } finally {
    scope.hasEnded = true;
  }
}

/**
 * Clears something away when the test that made it ends. Vitest's own `onTestFinished` asks which test runs at the moment. So what a test
 * makes after it timed out would be cleared away by the next test, and might be needed by that one.
 *
 * @throws if the test has ended. What it made is cleared away at once.
 */
export function onTestEnd(clear: () => unknown): void {
  const scope = scopes.getStore();
  if (!scope) throw new Error('Only a test can make this, since it ends with the test.');
  if (scope.hasEnded) {
    void clear();
    throw new Error(`The test "${scope.test.task.name}" has ended, and may not begin anything.`);
  }
  scope.test.onTestFinished(async () => {
    await clear();
  });
}
