import { expect, test } from 'vitest';

import { kinds } from '../examples/kinds/kinds.js';
import { play } from '../examples/kinds/kind.js';
import { temporaryFolder } from './kit/temporaryFolder.js';

test.each(kinds)('R14 an API that $says', async (kind) => {
  const runs = [kind, ...(kind.later ?? [])];
  expect(await play(kind, temporaryFolder())).toEqual(runs.map(({ exports }) => ({ rows: exports, wrong: [] })));
});
