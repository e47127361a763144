import { join } from 'node:path';

import { defineConfig } from 'vitest/config';

import { JsonFileReporter, QuietReporter } from '../../scripts/quietReporter.js';
import { executablePath, hasChromium } from './chromium.js';

if (!hasChromium) {
  console.error(
    `No Chromium at ${executablePath}, so what needs one is skipped: install it, or name one in SLUICE_CHROMIUM.`,
  );
}

// npm run test:browser. It is not part of `npm test`, because not everybody has Chromium.
export default defineConfig({
  test: {
    name: 'browser',
    include: ['*.test.ts'],
    setupFiles: [join(import.meta.dirname, '../../scripts/testScope.setup.ts')],
    pool: 'forks',
    // The tests of outages wait for most of their time, and the others meanwhile use the cores.
    maxWorkers: 2,
    // For what hangs: how long a test takes is up to the machine.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    reporters: [
      new QuietReporter(),
      new JsonFileReporter(join(import.meta.dirname, '../../reports/test:browser.json')),
    ],
  },
});
