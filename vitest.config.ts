import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';

import { configDefaults, defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';

import { CampaignSequencer } from './scripts/campaignSequencer.js';
import { JsonFileReporter, QuietReporter } from './scripts/quietReporter.js';

/** What looks at all of its process, or mocks a module. */
const alone = '**/*.alone.test.ts';
/** `npm run test:packages` packs the packages, `npm run test:browser` needs a browser. */
const notHere = [alone, 'test/packages/**', 'test/browser/**'];

/** Ms until a test, or a hook, is taken for one that hangs. */
const limit = 180_000;

/**
 * `npm test` leaves out the tests with this tag, and the files with the comment `// @module-tag slow`: processes that are killed again and
 * again, power cuts at each call, servers of databases, millions of rows.
 */
export const slow = { name: 'slow', description: 'takes seconds, or minutes', timeout: 3 * limit };

/**
 * `@sluice/source` leads imports between packages, and `#adapter`, to the sources: no build is needed, so none can be stale.
 * Tests run in Vite's ssr environment, where only these conditions count; the last two are Vitest's own.
 */
export const fromSources = {
  ssr: { resolve: { conditions: ['@sluice/source', 'node', 'development|production'] } },
};

/** Types (`*.test-d.ts`) are proven by `npm run typecheck`. */
function project({
  include,
  exclude = [],
  ...options
}: {
  readonly name: string;
  readonly include: readonly string[];
  readonly exclude?: readonly string[];
  readonly isolate: boolean;
}): TestProjectInlineConfiguration {
  return {
    ...fromSources,
    test: {
      ...options,
      include: [...include],
      exclude: [...configDefaults.exclude, ...exclude],
      setupFiles: [fileURLToPath(new URL('scripts/testScope.setup.ts', import.meta.url))],
      // For what hangs. How long a test takes is up to the machine, and to what else runs on it.
      pool: 'forks',
      // What a test makes seldom lives long: a larger nursery, in MB, saves garbage collections.
      execArgv: ['--max-semi-space-size=64'],
      testTimeout: limit,
      hookTimeout: limit,
      expect: { poll: { timeout: limit - 1_000 } },
    },
  };
}

export default defineConfig({
  test: {
    // Most tests wait for a disk, a socket or another process: a worker per core would leave the machine idle.
    maxWorkers: availableParallelism() + 2,
    globalSetup: ['temporaryFolder', 'postgres'].map((name) =>
      fileURLToPath(new URL(`scripts/${name}.setup.ts`, import.meta.url)),
    ),
    // What has not changed since the last run is not compiled again.
    experimental: { fsModuleCache: true },
    tags: [slow],
    sequence: { sequencer: CampaignSequencer },
    projects: [
      // Files share their processes, since to start one and load all anew takes longer than most files' tests: each leaves its process as it
      // found it. One project for all, since each project has processes of its own.
      project({
        name: 'shared',
        include: ['packages/*/test/**/*.test.ts', 'test/**/*.test.ts', 'prove/**/*.test.ts'],
        exclude: notHere,
        isolate: false,
      }),
      project({ name: 'alone', include: [`packages/*/test/${alone}`], isolate: true }),
    ],
    reporters: [new QuietReporter(), new JsonFileReporter('reports/vitest.json')],
    coverage: { provider: 'v8', include: ['packages/*/src/**/*.ts'], reporter: ['text-summary', 'html'] },
  },
});
