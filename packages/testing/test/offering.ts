import { expect, test } from 'vitest';
import type { SuiteOptions } from '../src/index.js';

const smallPages = '`small-pages` of the fixture, and pages of more than 10 rows';

/** What only the API of `serveListing` does, whatever its function is. */
export const notServed = ['`same-page` of the fixture', smallPages, '`first-row-gone` of the fixture'];

/** What it does only if its function uses `rows` and `limit`. */
export const notPaged = [smallPages, '`first-row-gone` of the fixture'];

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
