import { expect, test } from 'vitest';
import type { SuiteOptions } from '../src/index.js';
import type { Mutant, Mutants } from './mutants/mutant.js';
import { RecordedSuite } from './recordedSuite.js';

/** Proves that a suite notices what is wrong with each mutant, by the very check that is meant to, and that each check notices one. */
export function testMutants<F, Given extends readonly unknown[]>(
  kind: string,
  mutants: Mutants<F, Given>,
  register: (options: SuiteOptions & Pick<Mutant<F, Given>, 'factory'>) => void,
): void {
  const suiteOf = (factory: Mutant<F, Given>['factory']): RecordedSuite =>
    new RecordedSuite((options) => {
      register({ ...options, factory });
    }, 100);

  test.each(Object.entries(mutants))(`G5 the suite catches a ${kind} that %s`, async (_, { caughtBy, factory }) => {
    expect(await suiteOf(factory).verdictOf(caughtBy)).toEqual(expect.any(String));
  });

  test(`G5 each check of the suite catches a ${kind} that is broken`, () => {
    const noFactory = (): never => {
      throw new Error('No check is run.');
    };
    const caughtBy = Object.values(mutants).map((mutant) => mutant.caughtBy);
    expect([...new Set(caughtBy)].sort()).toEqual(suiteOf(noFactory).titles.toSorted());
  });
}
