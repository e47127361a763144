import { expect, test } from 'vitest';
import type { SuiteOptions } from '../src/index.js';

/**
 * Options of a suite for a part of ours. What the part does not offer is written down, by what the checks would need, so that none is
 * skipped that nobody knows of.
 */
export function allBut(...missing: readonly string[]): Required<SuiteOptions> {
  return {
    test,
    // Many tests share the machine.
    timeout: 20_000,
    onSkip: (_title, why) => {
      expect(missing).toContain(why);
    },
  };
}
