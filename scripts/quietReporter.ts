import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

import { JsonReporter, MinimalReporter, type TestCase, type Vitest } from 'vitest/node';

import { hasContainers } from '../test/kit/container.js';
import { pgbouncerProgram } from '../test/kit/pgbouncer.js';
import { postgresPrograms } from '../test/kit/postgresServer.js';
import { redisProgram } from '../test/kit/redisServer.js';

/** What some tests need, and without which they are skipped. */
const servers = [
  { name: 'PostgreSQL', isThere: postgresPrograms !== undefined, package: 'postgresql' },
  { name: 'PgBouncer', isThere: pgbouncerProgram !== undefined, package: 'pgbouncer' },
  { name: 'Redis', isThere: redisProgram !== undefined, package: 'redis-server' },
];

/** Says nothing of what passes: failures in full, then one line that counts. */
export class QuietReporter extends MinimalReporter {
  override onInit(vitest: Vitest): void {
    this.ctx = vitest;
    if (vitest.config.watch) super.onInit(vitest);
  }

  override reportTestSummary(): void {
    // The one line below stands for it.
  }

  override onTestRunEnd(...run: Parameters<MinimalReporter['onTestRunEnd']>): void {
    super.onTestRunEnd(...run);
    const [modules, faults] = run;
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const isLeftOut = (test: TestCase): boolean => this.#leavesOut && isSlow(test);
    const states = tests.filter((test) => !isLeftOut(test)).map((test) => test.result().state);
    const count = (state: (typeof states)[number]): number => states.filter((each) => each === state).length;
    const parts = [
      `${count('passed')} passed`,
      `${count('failed')} failed`,
      `${count('skipped')} skipped`,
      `${modules.filter((module) => module.errors().length > 0).length} files not read`,
      `${faults.length} errors outside of tests`,
    ].filter((part) => part.endsWith(' passed') || !part.startsWith('0 '));
    for (const { name, isThere, package: debian } of servers)
      if (!isThere)
        this.log(
          `${name} is not installed, so the tests that need it were skipped. On Debian: apt-get install ${debian}`,
        );
    if (!hasContainers) this.log('unshare makes no namespaces here, so the tests in containers were skipped.');
    this.log(`tests: ${parts.join(', ')} (${((this.end - this.start) / 1000).toFixed(1)} s)`);
    if (this.#leavesOut)
      this.log(
        `Left out: ${tests.filter(isLeftOut).length} slow tests (npm test -- --all); lint, types and format (npm run check).`,
      );
  }

  /** Whether slow tests are left out, as `npm test` does. */
  get #leavesOut(): boolean {
    return this.ctx.config.tagsFilter?.includes('!slow') === true;
  }
}

function isSlow(test: TestCase): boolean {
  return test.tags.includes('slow');
}

/** Vitest's JSON report in a file, without a line about it on the screen. */
export class JsonFileReporter extends JsonReporter {
  readonly path: string;

  constructor(path: string) {
    super({});
    this.path = path;
  }

  override async writeReport(report: string): Promise<void> {
    const path = resolve(this.ctx.config.root, this.path);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, report);
  }
}
