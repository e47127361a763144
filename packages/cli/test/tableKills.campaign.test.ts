// @module-tag slow
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { startSandbox } from '@sluice/sandbox';
import { afterAll, describe, expect, test } from 'vitest';
import { casesOf } from '../../../scripts/testEffort.js';
import { onTestEnd } from '../../../scripts/testScope.js';
import { Random } from '../../../test/kit/random.js';
import { postgresPrograms, startPostgres } from '../../../test/kit/postgresServer.js';
import { type ExportProcess, holdingsIn, killUntilDone } from '../../../test/kit/tableKills.js';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';
import { settingsFor, startSluice } from './runSluice.js';

/** A table, as the test reads it. */
interface Target {
  readonly to: string;
  /** Rows, and different ones of them. */
  readonly counts: () => Promise<string>;
}

/** Each part takes its kills; all of them would take too long for one test on a busy machine. `prove -- crash` kills more often. */
const parts = [1, 2];
const kills = casesOf(25);

/** Kills exports of three wallets side by side. */
async function checkKills(
  part: number,
  open: (name: string) => Target & { cwd: string },
  disturb?: () => Promise<void>,
) {
  await using sandbox = await startSandbox({ holdings: 3_000, owners: 3, latency: [1, 15] });
  const random = new Random(6 + part);
  for (let [killed, nth] = [0, 0]; killed < kills; nth += 1) {
    const { to, cwd, counts } = open(`t${nth}`);
    const args = ['nfts', 'export', '--owner', ...sandbox.owners, '--owners-per-request', '1', '--concurrency', '3'];
    args.push('--rate', 'unlimited', '--page-size', '50', '--commit-every', '2', '--progress', 'none', '--to', to);
    const start = (): ExportProcess => {
      const { process, ended } = startSluice(args, { env: settingsFor(sandbox), cwd, isInstalled: true });
      return { kill: () => process.kill('SIGKILL'), ended };
    };
    killed += await killUntilDone({ sandbox, random, start, ...(disturb && { disturb }) });
    expect({ nth, counts: await counts() }).toEqual({ nth, counts: '3000 3000' });
  }
}

test.each(parts)('D2 killed at any moment, an export into SQLite has each row once (part %i)', async (part) => {
  const cwd = temporaryFolder();
  await checkKills(part, (table) => ({
    to: `out.sqlite#${table}`,
    cwd,
    counts() {
      const db = new DatabaseSync(join(cwd, 'out.sqlite'));
      const [row] = db.prepare(holdingsIn(table)).all();
      db.close();
      return Promise.resolve(String(Object.values(row ?? {})[0]));
    },
  }));
});

describe.runIf(postgresPrograms !== undefined)('D2 killed at any moment, an export into PostgreSQL', () => {
  let crashes = 0;
  afterAll(() => expect(crashes).toBeGreaterThanOrEqual(casesOf(15) / 2));

  test.each(parts)('has each row once, also when the server crashes (part %i)', async (part) => {
    const server = await startPostgres();
    onTestEnd(() => server.close());
    const cwd = temporaryFolder();
    const disturb = async (): Promise<void> => {
      crashes += 1;
      await server.crash();
    };
    await checkKills(
      part,
      (table) => ({ to: `${server.url}?table=${table}`, cwd, counts: () => server.query(holdingsIn(table)) }),
      disturb,
    );
  });
});
