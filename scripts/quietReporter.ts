import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

import { JsonReporter, MinimalReporter, type Vitest } from 'vitest/node';

import { pgbouncerProgram } from '../test/kit/pgbouncer.js';
import { postgresPrograms } from '../test/kit/postgresServer.js';
import { redisProgram } from '../test/kit/redisServer.js';

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
    const states = modules.flatMap((module) => [...module.children.allTests()].map((test) => test.result().state));
    const count = (state: (typeof states)[number]): number => states.filter((each) => each === state).length;
    const parts = [
      `${count('passed')} passed`,
      `${count('failed')} failed`,
      `${count('skipped')} skipped`,
      `${modules.filter((module) => module.errors().length > 0).length} files not read`,
      `${faults.length} errors outside of tests`,
    ].filter((part) => part.endsWith(' passed') || !part.startsWith('0 '));
    if (postgresPrograms === undefined)
      this.log('PostgreSQL is not installed (Debian has postgresql), so the tests that need it were skipped.');
    if (pgbouncerProgram === undefined)
      this.log('PgBouncer is not installed (Debian has pgbouncer), so the tests that need it were skipped.');
    if (redisProgram === undefined)
      this.log('Redis is not installed (Debian has redis-server), so the tests that need it were skipped.');
    this.log(`tests: ${parts.join(', ')} (${((this.end - this.start) / 1000).toFixed(1)} s)`);
  }
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
