// @module-tag slow
import { describe, expect, test } from 'vitest';
import { someOf } from '../../../../scripts/testEffort.js';
import { onTestEnd } from '../../../../scripts/testScope.js';
import { postgresPrograms, startPostgres } from '../../../../test/kit/postgresServer.js';
import { Random } from '../../../../test/kit/random.js';
import { postgresDatabase } from '../../../tables/src/postgres/database.js';
import { startProxy, type Cut } from '../../../tables/test/cuttingProxy.js';
import { openEmptyPostgres } from '../../../tables/test/databases.js';
import { postgresRun } from '../../src/postgres.js';
import { smallTable, TableRun } from './tableRun.js';

/** A plan whose rows go to a table of a new database, behind a proxy. */
async function startBehindProxy(cutAt: (nth: number) => Cut) {
  const database = await openEmptyPostgres();
  const proxy = await startProxy(database.port, cutAt);
  onTestEnd(() => proxy.close());
  const url = new URL(database.url);
  url.port = String(proxy.port);
  await database.query("CREATE TABLE items AS SELECT 'old'::text AS id");
  const table = new TableRun();
  const target = postgresRun({ url: url.href, table: 'items', mode: 'append' });
  const finish = async (): Promise<void> => {
    const run = await target.submit(table.plan);
    onTestEnd(() => run.close?.());
    for await (const partition of run.pending()) await table.runPartition(run, partition);
    expect(await run.status()).toMatchObject({ done: 3, rows: 7 });
  };
  const ids = async () => (await database.query('SELECT id FROM items')).map(({ id }) => id).sort();
  return { proxy, finish, ids };
}

const expected = [...smallTable.flat(3).map((row) => ('id' in row ? row.id : undefined)), 'old'].sort();

describe.runIf(postgresPrograms !== undefined)('K2 a run into a table', () => {
  test.each<Cut>(['before the commit', 'after the commit'])(
    'K2 whose connection is cut %s writes nothing twice, whichever commit it was',
    async (cut) => {
      const whole = await startBehindProxy(() => 'none');
      await whole.finish();
      const commits = Array.from({ length: whole.proxy.commits }, (_, at) => at + 1);
      expect(commits.length).toBeGreaterThan(12);
      for (const nth of someOf(commits)) {
        const { finish, ids } = await startBehindProxy((at) => (at === nth ? cut : 'none'));
        // Whoever can't reach the server at all says so.
        await finish().catch((error: unknown) => {
          expect(String(error)).toContain("the server can't be reached");
          return finish();
        });
        expect(await ids(), `cut ${cut} ${nth}`).toEqual(expected);
      }
    },
  );

  test('K2 whose connection is cut at random, again and again, has each row once', async () => {
    const random = new Random(22);
    const { finish, ids } = await startBehindProxy(() => {
      const at = random.next();
      return at < 0.1 ? 'before the commit' : at < 0.2 ? 'after the commit' : 'none';
    });
    for (let runs = 0, isDone = false; !isDone && runs < 20; runs += 1)
      isDone = await finish().then(
        () => true,
        () => false,
      );
    expect(await ids()).toEqual(expected);
  });

  test('K2 whose server crashes goes on when it is there again', async () => {
    const server = await startPostgres();
    onTestEnd(() => server.close());
    const { url, query } = await openEmptyPostgres('', server);
    const table = new TableRun();
    let crashes = 0;
    table.onFetch = async (_, page) => {
      if (page !== 2) return;
      crashes += 1;
      await server.crash();
    };
    const run = await postgresRun({ url, table: 'items' }).submit(table.plan);
    onTestEnd(() => run.close?.());
    for await (const partition of run.pending()) await table.runPartition(run, partition);
    expect(crashes).toBe(1);
    expect(await query('SELECT id FROM items')).toHaveLength(table.rows.length);
  });

  test('K2 whose worker is stopped within a transaction has its locks given back', async () => {
    const { url } = await openEmptyPostgres();
    const { database } = postgresDatabase({ url }, { isWorker: true });
    const connection = await database.connect(new AbortController().signal);
    const [found] = await connection.transaction((session) => session.rows('SHOW idle_in_transaction_session_timeout'));
    await connection.close();
    expect(found).toEqual({ idle_in_transaction_session_timeout: '10s' });
  });
});
