import { availableParallelism } from 'node:os';
import { join } from 'node:path';

import { defineConfig } from 'vitest/config';

import { JsonFileReporter, QuietReporter } from '../../scripts/quietReporter.js';

// npm run test:packages. It is not part of `npm test`, because it packs, installs and compiles for a minute or two.
export default defineConfig({
  test: {
    name: 'packages',
    include: ['*.test.ts'],
    setupFiles: [join(import.meta.dirname, '../../scripts/testScope.setup.ts')],
    globalSetup: ['./setup.ts'],
    pool: 'forks',
    // A compiler keeps a core busy.
    maxConcurrency: availableParallelism(),
    testTimeout: 300_000,
    hookTimeout: 300_000,
    reporters: [
      new QuietReporter(),
      new JsonFileReporter(join(import.meta.dirname, '../../reports/test:packages.json')),
    ],
  },
});
