// @module-tag slow
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { startSandbox } from '@sluice/sandbox';
import { expect, test } from 'vitest';
import { casesOf } from '../../../scripts/testEffort.js';
import { onTestEnd } from '../../../scripts/testScope.js';
import { postgresPrograms, startPostgres } from '../../../test/kit/postgresServer.js';
import { Random } from '../../../test/kit/random.js';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';
import { settingsFor, sluice, startSluice } from './runSluice.js';
import { polled, watchArgs } from './watching.js';

/** Each part takes its kills; all of them would take too long for one test on a busy machine. */
const parts = [1, 2];
const kills = casesOf(15);
const counting = "SELECT count(*) || ' ' || count(DISTINCT id) AS counts FROM streams";

/** Kills a watch at random moments, while streams change, and looks at the table after each kill. */
async function checkKills(part: number, to: string, cwd: string, counts: () => Promise<string>): Promise<void> {
  await using sandbox = await startSandbox({ streams: 40, statusEvery: 2 });
  const random = new Random(10 + part);
  const args = watchArgs('--to', to, '--key-columns', 'id');
  const options = { env: settingsFor(sandbox), cwd };
  expect(await sluice([...args, '--polls', '1'], options)).toMatchObject({ code: 0 });
  for (let killed = 1; killed <= kills; killed += 1) {
    const { process, ended } = startSluice(args, { ...options, isInstalled: true });
    const outcome = await Promise.race([polled(sandbox, random.int(1, 12)), ended]);
    expect({ killed, outcome }).toEqual({ killed, outcome: undefined });
    process.kill('SIGKILL');
    expect((await ended).code).toBeNull();
    expect({ killed, counts: await counts() }).toEqual({ killed, counts: '40 40' });
  }
  const { code, stderr } = await sluice([...args, '--polls', '2'], options);
  expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining('Resuming: 40') as string });
}

test.each(parts)('D5 killed at any moment, a mirror in SQLite is whole, and goes on (part %i)', async (part) => {
  const cwd = temporaryFolder();
  await checkKills(part, 'out.sqlite#streams', cwd, () => {
    const db = new DatabaseSync(join(cwd, 'out.sqlite'));
    const [row] = db.prepare(counting).all();
    db.close();
    return Promise.resolve(String(Object.values(row ?? {})[0]));
  });
});

test.runIf(postgresPrograms !== undefined).each(parts)(
  'D5 killed at any moment, a mirror in PostgreSQL is whole (part %i)',
  async (part) => {
    const server = await startPostgres();
    onTestEnd(() => server.close());
    await checkKills(part, `${server.url}?table=streams`, temporaryFolder(), () => server.query(counting));
  },
);
