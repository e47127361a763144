// @module-tag slow
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { exportTo } from '@sluice/core';
import pg from 'pg';
import { describe, expect, test, vi } from 'vitest';
import { Random } from '../../../test/kit/random.js';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';
import { postgresPrograms, startPostgres } from '../../../test/kit/postgresServer.js';
import { casesOf, someOf } from '../../../scripts/testEffort.js';
import { onTestEnd } from '../../../scripts/testScope.js';
import { postgres } from '../src/postgres.js';
import { openPostgres } from '../src/postgres/connection.js';
import { type Cut, startProxy } from './cuttingProxy.js';
import { openEmptyPostgres, type TextRow } from './databases.js';
import { itemsOf, itemSource, type Item } from './items.js';

/** Ends at the first failure of a server. */
const retry = { for: 0 };

const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, nth) => from + nth);

describe.runIf(postgresPrograms !== undefined)('D2 a connection to PostgreSQL', () => {
  /** An empty database behind a proxy. */
  async function openBehindProxy(cutAt: (nth: number) => Cut) {
    const database = await openEmptyPostgres();
    const proxy = await startProxy(database.port, cutAt);
    onTestEnd(() => proxy.close());
    const url = new URL(database.url);
    url.port = String(proxy.port);
    const ids = async () =>
      (await database.query('SELECT id FROM items')).map(({ id }) => Number(id)).sort((a, b) => a - b);
    const sink = (retryFor?: number) =>
      postgres<Item>({
        url: url.href,
        table: 'items',
        mode: 'append',
        ...(retryFor !== undefined && { retry: { for: retryFor } }),
      });
    return { proxy, database, ids, sink };
  }

  test.each<Cut>(['before the commit', 'after the commit'])(
    'that is cut %s goes on by itself, and writes nothing twice, whichever commit it was',
    async (cut) => {
      const whole = await openBehindProxy(() => 'none');
      const source = () => itemSource([itemsOf(range(0, 9)), itemsOf(range(10, 16))]);
      await exportTo(source(), whole.sink(), { commitEvery: 1 }).run();
      expect(whole.proxy.commits).toBeGreaterThan(8);
      // Those before the first are queries of the lock.
      for (const nth of someOf(range(1, whole.proxy.commits + 1), cut === 'before the commit' ? 0 : 1)) {
        const { sink, ids } = await openBehindProxy((at) => (at === nth ? cut : 'none'));
        const run = () => exportTo(source(), sink(), { commitEvery: 1 }).run();
        const { rows } = await run();
        expect({ nth, rows, ids: await ids() }).toEqual({ nth, rows: 15, ids: [...range(0, 9), ...range(10, 16)] });
      }
    },
  );

  test('that is cut before it has locked the table goes on by itself, or is an error that says what to do', async () => {
    const { sink, ids } = await openBehindProxy((at) => (at === 1 ? 'before the commit' : 'none'));
    await exportTo(itemSource([itemsOf(range(0, 4))]), sink()).run();
    expect(await ids()).toEqual(range(0, 4));
    const always = await openBehindProxy(() => 'before the commit');
    await expect(exportTo(itemSource([itemsOf([1])]), always.sink(0)).run()).rejects.toMatchObject({
      code: 'sink',
      message: expect.stringContaining("can't be reached"),
    });
    expect(always.proxy.commits).toBe(1);
  });

  test('that is cut while somebody looks at a checkpoint is opened again, or is an error that says why', async () => {
    const { database, proxy, sink } = await openBehindProxy((nth) => (nth === 1 ? 'before the commit' : 'none'));
    await exportTo(itemSource([itemsOf(range(0, 4))]), database.sink<Item>({ table: 'items', mode: 'append' })).run();
    expect(await sink().state.load('checkpoint')).toMatchObject({ rows: 4 });
    expect(proxy.commits).toBe(2);
    const always = await openBehindProxy(() => 'before the commit');
    await expect(always.sink().state.load('checkpoint')).rejects.toMatchObject({
      code: 'sink',
      message: expect.stringMatching(/^127\.0\.0\.1:\d+\/db_\w+: the server can't be reached/),
    });
    expect(always.proxy.commits).toBeGreaterThan(2);
  });

  test('that is cut at random, again and again, leads to the rows of an undisturbed export', async () => {
    for (let seed = 1; seed <= casesOf(6); seed += 1) {
      const random = new Random(seed);
      const { sink, ids } = await openBehindProxy(() => {
        const at = random.next();
        return at < 0.1 ? 'before the commit' : at < 0.2 ? 'after the commit' : 'none';
      });
      const partitions = [itemsOf(range(0, 30)), itemsOf(range(30, 40)), itemsOf(range(40, 60))];
      const run = () => exportTo(itemSource(partitions), sink(), { commitEvery: 1, concurrency: 3 }).run();
      let runs = 0;
      for (let isDone = false; !isDone && runs < 20; runs += 1)
        isDone = await run().then(
          () => true,
          () => false,
        );
      expect({ seed, ids: await ids() }).toEqual({ seed, ids: range(0, 60) });
    }
  });

  test('whose server crashes goes on by itself when it is there again', async () => {
    const server = await startPostgres();
    onTestEnd(() => server.close());
    const database = await openEmptyPostgres('', server);
    let crashes = 0;
    const source = itemSource([itemsOf(range(0, 30))], {
      async onPage(_, page) {
        if (page !== 3 && page !== 6) return;
        crashes += 1;
        await server.crash();
      },
    });
    const { rows } = await exportTo(source, database.sink<Item>({ table: 'items' }), { commitEvery: 1 }).run();
    expect({ rows, crashes }).toEqual({ rows: 30, crashes: 2 });
    const ids = (await database.query('SELECT id FROM items')).map(({ id }) => Number(id));
    expect(ids.sort((a, b) => a - b)).toEqual(range(0, 30));
  });

  test('says what to do without a password, and where the server is when nobody listens there', async () => {
    const server = await startPostgres();
    onTestEnd(() => server.close());
    const [file = ''] = (await server.query('SHOW hba_file')).split('\n');
    await writeFile(file, `host all guarded 127.0.0.1/32 scram-sha-256\n${await readFile(file, 'utf8')}`);
    await server.query(
      "CREATE ROLE guarded LOGIN PASSWORD 'hunter22&+ %'; GRANT CREATE ON SCHEMA public TO guarded; SELECT pg_reload_conf()",
    );
    const failed = (url: string, password?: string) =>
      exportTo(
        itemSource([itemsOf([1])]),
        postgres<Item>({ url, table: 'items', retry, ...(password && { password }) }),
      )
        .run()
        .then(
          () => 'written',
          (error: unknown) => (error instanceof Error ? error.message : ''),
        );
    const at = `127.0.0.1:${String(server.port)}/postgres`;
    expect(await failed(`postgres://guarded@${at}`)).toBe(
      `${at}: the server wants a password. Give it in PGPASSWORD or a file.`,
    );
    expect(await failed(`postgres://guarded@${at}`, 'hunter23')).toBe(
      `${at}: the server refused the user or the password: password authentication failed for user "guarded". Give the password in PGPASSWORD or a file.`,
    );
    expect(await failed(`postgres://guarded@${at}`, 'hunter22&+ %')).toBe('written');
    const passwords = join(temporaryFolder(), 'passwords');
    vi.stubEnv('PGPASSFILE', passwords);
    onTestEnd(() => vi.unstubAllEnvs());
    const warned = vi.fn();
    process.on('warning', warned);
    onTestEnd(() => process.off('warning', warned));
    await writeFile(passwords, `# none\n127.0.0.1:1:*:*:x\n*:${String(server.port)}:postgres:guarded:hunter22&+ %\n`);
    await chmod(passwords, 0o644);
    expect(await failed(`postgres://guarded@${at}`)).toBe(
      `${passwords} may be read by other users, so its passwords are not used. Run: chmod 600 ${passwords}`,
    );
    await chmod(passwords, 0o600);
    await server.query('DROP TABLE items');
    expect(await failed(`postgres://guarded@${at}`)).toBe('written');
    expect(warned).not.toHaveBeenCalled();
    expect(await failed('postgres://guarded@localhost:1/postgres')).toMatch(/can't be reached \(.*ECONNREFUSED/);
  });

  test('is an error that names neither password nor key when there is no server, database or right', async () => {
    const server = await startPostgres();
    onTestEnd(() => server.close());
    const failed = (url: string) =>
      exportTo(itemSource([itemsOf([1])]), postgres<Item>({ url, table: 'items', retry }))
        .run()
        .then(
          () => 'written',
          (error: unknown) => String(error),
        );
    const at = `127.0.0.1:${String(server.port)}`;
    expect(await failed(`postgres://tester:hunter22@${at}/nowhere`)).toMatch(
      /database "nowhere" does not exist\. Create it/,
    );
    expect(await failed('postgres://tester:hunter22@127.0.0.1:1/postgres')).toMatch(/can't be reached/);
    await server.query('CREATE ROLE reader LOGIN');
    const refused = await failed(`postgres://reader:hunter22@${at}/postgres`);
    expect(refused).toMatch(/the user lacks a right: permission denied for (schema public|table _sluice)/);
    for (const url of [`postgres://tester:hunter22@${at}/nowhere`, 'postgres://tester:hunter22@127.0.0.1:1/postgres'])
      expect(await failed(url)).not.toContain('hunter22');
    expect(refused).not.toContain('hunter22');
  });
});

describe.runIf(postgresPrograms !== undefined)('D2 an export that is cancelled', () => {
  /** The processes of the server that serve an export into a database. */
  const backends = async (database: { query: (sql: string) => Promise<readonly TextRow[]> }): Promise<number[]> =>
    (
      await database.query(
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'sluice %'",
      )
    ).map(({ pid }) => Number(pid));

  test('while the server does not respond ends soon, and is resumed', async () => {
    const database = await openEmptyPostgres();
    const cancel = new AbortController();
    const stopped: number[] = [];
    const ids = range(0, 30);
    const source = itemSource([itemsOf(ids)], {
      async onPage(_, page) {
        if (page !== 5 || stopped.length > 0) return;
        stopped.push(...(await backends(database)));
        for (const pid of stopped) process.kill(pid, 'SIGSTOP');
        setTimeout(() => cancel.abort(new Error('Ctrl-C')), 100);
      },
    });
    const sink = () => database.sink<Item>({ table: 'items' });
    const began = performance.now();
    const run = exportTo(source, sink(), { commitEvery: 1 }).run({ signal: cancel.signal });
    const ended = run.finally(() => {
      for (const pid of stopped) process.kill(pid, 'SIGCONT');
    });
    await expect(ended).rejects.toThrow('Ctrl-C');
    expect(performance.now() - began).toBeLessThan(10_000);
    expect(stopped).toHaveLength(1);
    const { resumedRows } = await exportTo(source, sink()).run();
    expect(resumedRows).toBeGreaterThanOrEqual(12);
    const rows = await database.query('SELECT id FROM items');
    expect(rows.map(({ id }) => Number(id)).sort((a, b) => a - b)).toEqual(ids);
  });

  test('while it waits for a lock of somebody else ends soon, and is resumed', async () => {
    const database = await openEmptyPostgres();
    await database.query('CREATE TABLE items (id numeric, name text, amount numeric)');
    const other = new pg.Client({ connectionString: database.url });
    await other.connect();
    onTestEnd(() => other.end());
    const cancel = new AbortController();
    const source = itemSource([itemsOf(range(0, 9))], {
      async onPage(_, page) {
        if (page !== 2) return;
        await other.query('BEGIN; LOCK TABLE items IN EXCLUSIVE MODE');
        setTimeout(() => cancel.abort(new Error('Ctrl-C')), 300);
      },
    });
    const sink = () => database.sink<Item>({ table: 'items' });
    await expect(exportTo(source, sink()).run({ signal: cancel.signal })).rejects.toThrow('Ctrl-C');
    await other.query('ROLLBACK');
    expect((await exportTo(source, sink()).run()).rows).toBe(9);
    expect(await database.query('SELECT id FROM items')).toHaveLength(9);
  });
});

describe.runIf(postgresPrograms !== undefined)('a lock that somebody holds', () => {
  const limitOf = async (url: string): Promise<unknown> => {
    const connection = await openPostgres({ connectionString: url }, 'here', new AbortController().signal);
    onTestEnd(() => connection.close());
    return (await connection.transaction((session) => session.rows('SHOW lock_timeout')))[0]?.['lock_timeout'];
  };

  test('is waited for as long as the server says, and for a minute if it says nothing', async () => {
    const { url, query } = await openEmptyPostgres();
    expect(await limitOf(url)).toBe('1min');
    await query("DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET lock_timeout = 7000', current_database()); END $$");
    expect(await limitOf(url)).toBe('7s');
  });

  test('D8 names the holder in the same database, and nobody in another one of the server', async () => {
    const { signal } = new AbortController();
    const databases = [await openEmptyPostgres(), await openEmptyPostgres()];
    for (const database of databases) {
      const release = await database.sink<Item>({ table: 'items' }).state?.lock(signal);
      onTestEnd(async () => release?.());
    }
    for (const { query, sink } of databases) {
      const [holder] = await query(
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'sluice %'",
      );
      await expect(sink<Item>({ table: 'items' }).state?.lock(signal)).rejects.toThrow(
        `(backend ${String(holder?.['pid'])})`,
      );
    }
  });

  test('D8 names the holder to another user, who may not see where it is', async () => {
    const { signal } = new AbortController();
    const database = await openEmptyPostgres();
    const release = await database.sink<Item>({ table: 'items' }).state?.lock(signal);
    onTestEnd(async () => release?.());
    await database.query('CREATE ROLE other_user LOGIN');
    const sink = postgres<Item>({ url: database.url.replace('tester', 'other_user'), table: 'items' });
    await expect(sink.state.lock(signal)).rejects.toThrow(/ is being written by sluice \d+ \(backend \d+\)\./);
    expect(await sink.state.look()).toEqual({ isThere: false, holder: { pid: process.pid, isRunning: true } });
  });

  test.each(['fail', 'merge'] as const)('is told, and what was committed is kept: %s', async (mode) => {
    const { url, query } = await openEmptyPostgres();
    await query('CREATE TABLE items (id numeric, name text, amount numeric)');
    await query("DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET lock_timeout = 50', current_database()); END $$");
    const other = new pg.Client({ connectionString: url });
    await other.connect();
    onTestEnd(() => other.end());
    const fetched: number[] = [];
    const source = itemSource([itemsOf(range(0, 9))], {
      async onPage(_, page) {
        fetched.push(page);
        if (page === 2) await other.query('BEGIN; LOCK TABLE items IN EXCLUSIVE MODE');
      },
    });
    const table = { url, table: 'items', mode, retry, ...(mode === 'merge' && { key: ['id'] }) };
    const run = () => exportTo(source, postgres<Item>(table)).run();
    // A run that resumes is not begun again: a new one would find the same lock.
    for (let attempt = 1; attempt <= 2; attempt += 1)
      await expect(run()).rejects.toMatchObject({
        code: 'sink',
        message: expect.stringContaining('somebody holds a lock on the table. End that transaction'),
      });
    await other.query('ROLLBACK');
    expect(await run()).toMatchObject({ rows: 9, resumedRows: 9 });
    expect(fetched).toEqual([0, 1, 2]);
  });
});

describe.runIf(postgresPrograms !== undefined)('D3 readers of PostgreSQL', () => {
  test.each(['READ COMMITTED', 'REPEATABLE READ'])(
    'see the old rows or the new ones, and nothing else: %s',
    async (level) => {
      const database = await openEmptyPostgres();
      const export_ = (ids: number[], restart: boolean) =>
        exportTo(
          itemSource([itemsOf(ids)], { pageSize: 50 }),
          database.sink<Item>({ table: 'items', mode: 'replace' }),
          {
            restart,
            commitEvery: 1,
          },
        ).run();
      await export_(range(0, 300), false);
      await database.query('CREATE VIEW seen AS SELECT id FROM items');
      const reading = { isOn: true };
      const counts = new Set<string>();
      const client = new pg.Client({ connectionString: database.url });
      await client.connect();
      onTestEnd(() => client.end());
      const count = async (of: string): Promise<string> =>
        String((await client.query<{ n: string }>(`SELECT count(*) AS n FROM ${of}`)).rows[0]?.n);
      const reader = (async () => {
        while (reading.isOn) {
          await client.query(`BEGIN ISOLATION LEVEL ${level}`);
          const table = await count('items');
          // A transaction of REPEATABLE READ sees the same at each statement.
          const view = await count('seen');
          await client.query('COMMIT');
          counts.add(table);
          if (level === 'REPEATABLE READ') counts.add(view === table ? view : `${table}, then ${view}`);
          else counts.add(view);
        }
      })();
      for (const size of [500, 300, 500]) await export_(range(0, size), true);
      reading.isOn = false;
      await reader;
      expect([...counts].sort()).toEqual(['300', '500']);
    },
  );
});
