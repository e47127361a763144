// @module-tag slow
import { exportTo, LockError } from '@sluice/core';
import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { onTestEnd } from '../../../scripts/testScope.js';
import { pgbouncerProgram, startPgbouncer } from '../../../test/kit/pgbouncer.js';
import { postgresPrograms } from '../../../test/kit/postgresServer.js';
import { postgres, type TableMode } from '../src/postgres.js';
import { postgresDatabase } from '../src/postgres/database.js';
import { openEmptyPostgres } from './databases.js';
import { itemsOf, itemSource, type Item } from './items.js';

const isInstalled = postgresPrograms !== undefined && pgbouncerProgram !== undefined;

describe.runIf(isInstalled)('D2 behind a pooler of transactions', () => {
  async function opened(sessions = 2) {
    const database = await openEmptyPostgres();
    const pooler = await startPgbouncer(database, sessions);
    onTestEnd(() => pooler.close());
    const url = new URL(database.url);
    url.port = String(pooler.port);
    const sink = (table: string, mode: TableMode = 'append', breakLock = false) =>
      postgres<Item>({ url: url.href, table, mode, breakLock, ...(mode === 'merge' && { key: ['id'] }) });
    const idsIn = async (table: string): Promise<number[]> =>
      (await database.query(`SELECT id FROM ${table}`)).map(({ id }) => Number(id)).sort((a, b) => a - b);
    return { database, url, sink, idsIn };
  }

  const all = Array.from({ length: 9 }, (_, nth) => nth);

  test('nothing of a run stays in a session, whatever its mode, and the next run is not refused', async () => {
    const { database, url, sink, idsIn } = await opened();
    for (const mode of ['append', 'merge', 'replace'] as const)
      await exportTo(itemSource([itemsOf(all)]), sink('items', mode), { commitEvery: 1, restart: true }).run();
    expect(await idsIn('items')).toEqual(all);
    const here = '(SELECT oid FROM pg_database WHERE datname = current_database())';
    const locks = `SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND database = ${here}`;
    expect(await database.query(locks)).toEqual([]);
    const settings = "SELECT name FROM pg_settings WHERE source = 'session' AND name <> 'application_name'";
    const client = new pg.Client({ connectionString: url.href });
    await client.connect();
    onTestEnd(() => client.end());
    expect((await client.query(settings)).rows).toEqual([]);
  });

  test('a run that another one took over ends, and each row is there once', async () => {
    const { sink, idsIn } = await opened();
    let second: Promise<unknown> | undefined;
    const source = itemSource([itemsOf(all)], {
      async onPage(_, page) {
        if (page === 1) await (second = exportTo(itemSource([itemsOf(all)]), sink('items'), { commitEvery: 1 }).run());
      },
    });
    await expect(exportTo(source, sink('items'), { commitEvery: 1 }).run()).rejects.toThrow(LockError);
    expect(await second).toMatchObject({ rows: 9 });
    expect(await idsIn('items')).toEqual(all);
  });

  test('a direct connection that writes the table keeps off others, until its lock is broken', async () => {
    const { database, sink, idsIn } = await opened();
    const source = itemSource([itemsOf(all)], {
      async onPage(_, page) {
        if (page !== 1) return;
        const later = exportTo(itemSource([itemsOf(all)]), sink('items')).run();
        await expect(later).rejects.toThrow(/^The table items is being written by sluice \d+ from 127\.0\.0\.1/);
        await exportTo(itemSource([itemsOf(all)]), sink('items', 'append', true)).run();
      },
    });
    const first = exportTo(source, database.sink<Item>({ table: 'items', mode: 'append' }), { commitEvery: 1 }).run();
    await expect(first).rejects.toThrow('Another run has taken over the table items');
    expect(await idsIn('items')).toEqual(all);
  });

  test.each([false, true])(
    'a session that kept a lock is never ended, also if the lock is to be broken: %s',
    async (breakLock) => {
      const { url, sink, database } = await opened(1);
      const psql = new pg.Client({ connectionString: url.href, application_name: 'psql' });
      await psql.connect();
      onTestEnd(() => psql.end());
      await psql.query("SELECT pg_advisory_lock(hashtextextended('sluice public.items', 0))");
      const table = { table: 'items', url: database.url, breakLock };
      await expect(exportTo(itemSource([itemsOf(all)]), postgres<Item>(table)).run()).rejects.toMatchObject({
        code: 'lock',
        message: expect.stringMatching(
          /^The table items is locked by psql from 127\.0\.0\.1 \(backend \d+\), which is not Sluice: a session of a pooler/,
        ),
      });
      // The pooled session is there still.
      expect((await psql.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
      // And whoever comes through the pooler gets the same session, whose lock is its own.
      expect((await exportTo(itemSource([itemsOf(all)]), sink('items')).run()).rows).toBe(9);
    },
  );

  test('a connection through it is known, and so is a direct one', async () => {
    const { database, url } = await opened();
    const { signal } = new AbortController();
    for (const [address, isPooled] of [
      [url.href, true],
      [database.url, false],
    ] as const) {
      const connection = await postgresDatabase({ url: address }).database.connect(signal);
      onTestEnd(() => connection.close());
      expect(connection.isPooled).toBe(isPooled);
    }
  });
});
