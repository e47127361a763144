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
/** Of a history, also how many versions have no next one though they changed, and how many polls are missing. */
const countingVersions =
  "SELECT (SELECT count(*) || ' ' || count(DISTINCT id) FROM streams_now) || ' ' || (SELECT count(*) FROM streams v WHERE _ended = 'changed' AND NOT EXISTS (SELECT 1 FROM streams n WHERE n.id = v.id AND n._valid_from = v._valid_to)) || ' ' || (SELECT max(generation) - count(*) FROM streams_polls) AS counts";
const kinds = [
  { mode: 'mirror', promise: 'D5', query: counting, whole: '40 40' },
  { mode: 'history', promise: 'D9', query: countingVersions, whole: '40 40 0 0' },
] as const;
type Kind = (typeof kinds)[number];
/** Each kind with each part. */
const cases = kinds.flatMap((kind) => parts.map((part) => ({ ...kind, part })));

/** Kills a watch at random moments, while streams change, and looks at the table after each kill. */
async function checkKills(
  { mode, whole, part }: Kind & { readonly part: number },
  to: string,
  cwd: string,
  counts: () => Promise<string>,
): Promise<void> {
  await using sandbox = await startSandbox({ streams: 40, statusEvery: 2 });
  const random = new Random(10 + part);
  const args = watchArgs('--to', to, '--key-columns', 'id', '--mode', mode);
  const options = { env: settingsFor(sandbox), cwd };
  expect(await sluice([...args, '--polls', '1'], options)).toMatchObject({ code: 0 });
  for (let killed = 1; killed <= kills; killed += 1) {
    const { process, ended } = startSluice(args, { ...options, isInstalled: true });
    const outcome = await Promise.race([polled(sandbox, random.int(1, 12)), ended]);
    expect({ killed, outcome }).toEqual({ killed, outcome: undefined });
    process.kill('SIGKILL');
    expect((await ended).code).toBeNull();
    expect({ killed, counts: await counts() }).toEqual({ killed, counts: whole });
  }
  const { code, stderr } = await sluice([...args, '--polls', '2'], options);
  expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining('Resuming: 40') as string });
}

test.each(cases)(
  '$promise killed at any moment, a $mode in SQLite is whole, and goes on (part $part)',
  async (kind) => {
    const cwd = temporaryFolder();
    await checkKills(kind, 'out.sqlite#streams', cwd, () => {
      const db = new DatabaseSync(join(cwd, 'out.sqlite'));
      const [row] = db.prepare(kind.query).all();
      db.close();
      return Promise.resolve(String(Object.values(row ?? {})[0]));
    });
  },
);

test.runIf(postgresPrograms !== undefined).each(cases)(
  '$promise killed at any moment, a $mode in PostgreSQL is whole (part $part)',
  async (kind) => {
    const server = await startPostgres();
    onTestEnd(() => server.close());
    await checkKills(kind, `${server.url}?table=streams`, temporaryFolder(), () => server.query(kind.query));
  },
);
