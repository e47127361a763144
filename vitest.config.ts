import { readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';

import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';

import { JsonFileReporter, QuietReporter } from './scripts/quietReporter.js';

/** One project a package, so that `--project core` runs one. Types (`*.test-d.ts`) are proven by `npm run typecheck`. */
function project(name: string, root: string): TestProjectInlineConfiguration {
  return {
    // `@sluice/source` leads imports between packages, and `#adapter`, to the sources: no build is needed, so none can be stale.
    // Tests run in Vite's ssr environment, where only these conditions count; the last two are Vitest's own.
    ssr: { resolve: { conditions: ['@sluice/source', 'node', 'development|production'] } },
    test: { name, root, include: ['test/**/*.test.ts'], pool: 'forks', testTimeout: 30_000, hookTimeout: 30_000 },
  };
}

const packages = readdirSync(new URL('packages', import.meta.url), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => project(name, `packages/${name}`));

export default defineConfig({
  test: {
    // Most tests wait for a disk, a socket or another process: one worker less than there are cores would leave the machine idle.
    maxWorkers: availableParallelism() + 1,
    projects: [...packages, project('workspace', '.')],
    reporters: [new QuietReporter(), new JsonFileReporter('reports/vitest.json')],
    coverage: { provider: 'v8', include: ['packages/*/src/**/*.ts'], reporter: ['text-summary', 'html'] },
  },
});
