// @module-tag slow
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { createSource, exportTo, type Sink, watch } from '@sluice/core';
import type { OutageEvent } from '@sluice/core/kit';
import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { onTestEnd } from '../../../scripts/testScope.js';
import { postgresPrograms } from '../../../test/kit/postgresServer.js';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';
import { postgres, postgresMirror } from '../src/postgres.js';
import { sqlite } from '../src/sqlite.js';
import { openEmptyPostgres } from './databases.js';
import { holdLock } from './heldLock.js';
import { itemSchema, itemsOf, type Item } from './items.js';
import { switchedProxy, type ServerMode } from './switchedProxy.js';

/** As long as it takes, at a pace for tests. */
const retry = { for: Infinity, baseDelay: 5, maxDelay: 50 };

/** Three pages of two rows; before the second one something happens. */
function pagesWith(onPage: () => unknown) {
  const events: OutageEvent[] = [];
  let heard = (): void => undefined;
  const source = createSource<Item>({
    name: 'items',
    identity: null,
    schema: itemSchema,
    endpoint: {
      observe(event) {
        if (event.type !== 'outage') return;
        events.push(event);
        heard();
      },
    },
    async fetch({ at }) {
      const page = at && 'cursor' in at ? Number(at.cursor) : 0;
      if (page === 1) await onPage();
      return { rows: itemsOf([2 * page, 2 * page + 1]), next: page < 2 ? { cursor: String(page + 1) } : 'end' };
    },
  });
  const outage = async (cause: string): Promise<void> => {
    while (events.at(-1)?.cause !== cause) await new Promise<void>((resolve) => (heard = resolve));
  };
  return { source, events, outage };
}

/** Exports through an outage, which is mended once it was reported with its cause. */
async function exportThrough(
  cause: string,
  { sink, begin, mend }: { sink: Sink<Item>; begin: () => unknown; mend: () => unknown },
) {
  const { source, events, outage } = pagesWith(begin);
  const ended = exportTo(source, sink, { commitEvery: 1 }).run();
  await Promise.race([outage(cause), ended]);
  await mend();
  const { rows } = await ended;
  return { rows, events };
}

describe.runIf(postgresPrograms !== undefined)('D2 an export into PostgreSQL', () => {
  async function openThroughProxy() {
    const database = await openEmptyPostgres();
    const proxy = await switchedProxy(database.port);
    const url = new URL(database.url);
    url.port = String(proxy.port);
    return { ...database, proxy, url: url.href, own: database.url };
  }

  test.each<[mode: ServerMode, cause: string]>([
    ['refused', 'connection refused'],
    [{ code: '57P03' }, 'server not ready'],
    [{ code: '57P01' }, 'server shut down'],
    [{ code: '53300' }, 'too many connections'],
    [{ code: '53100' }, 'disk of the server full'],
    [{ code: '53200' }, 'server out of resources'],
    [{ code: '08006' }, 'connection lost'],
    [{ code: '28P01' }, 'user or password refused'],
    [{ code: '3D000' }, 'database not there'],
  ])('waits for a server that is %o, names the cause, and writes each row once', async (mode, cause) => {
    const { url, query, proxy } = await openThroughProxy();
    const { rows, events } = await exportThrough(cause, {
      sink: postgres<Item>({ url, table: 'items', mode: 'append', retry }),
      begin: () => proxy.become(mode),
      mend: () => proxy.become('there'),
    });
    expect(rows).toBe(6);
    expect(await query('SELECT count(*) AS n, count(DISTINCT id) AS ids FROM items')).toEqual([{ n: '6', ids: '6' }]);
    expect(events.find((event) => event.cause === cause)).toMatchObject({ left: Infinity, error: { code: 'sink' } });
    expect(events.at(-1)).toEqual({ type: 'outage', source: 'items', sink: 'postgres' });
    // What the server said is in the error only.
    expect(events.map((event) => event.cause).join()).not.toContain('hunter22');
  });

  test.each<[what: string, cause: string, isReadOnly: boolean]>([
    ['ends its connections', 'connection lost', false],
    ['is read-only, as a standby', 'server is read-only', true],
  ])('goes on where the server %s', async (_, cause, isReadOnly) => {
    const { url, query } = await openEmptyPostgres();
    // A setting of the database is that of later connections.
    const admin = new pg.Client({ connectionString: url });
    await admin.connect();
    onTestEnd(() => admin.end());
    const set = (value: boolean) =>
      admin.query(`ALTER DATABASE ${new URL(url).pathname.slice(1)} SET default_transaction_read_only = ${value}`);
    const endAll = () =>
      admin.query(
        'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
      );
    const { rows, events } = await exportThrough(cause, {
      sink: postgres<Item>({ url, table: 'items', mode: 'append', retry }),
      begin: async () => {
        await set(isReadOnly);
        await endAll();
      },
      mend: async () => {
        await set(false);
        await endAll();
      },
    });
    expect(rows).toBe(6);
    expect(await query('SELECT count(*) AS n, count(DISTINCT id) AS ids FROM items')).toEqual([{ n: '6', ids: '6' }]);
    expect(events.some((event) => event.cause !== undefined)).toBe(true);
  });

  test.each(['append', 'merge'] as const)('waits for a lock of somebody else, which it names: %s', async (mode) => {
    const { url, query } = await openEmptyPostgres();
    await query('CREATE TABLE items (id numeric PRIMARY KEY, name text, amount numeric)');
    await query("DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET lock_timeout = 50', current_database()); END $$");
    let unlock = (): Promise<unknown> => Promise.resolve();
    const { rows, events } = await exportThrough('locked by another transaction', {
      sink: postgres<Item>({ url, table: 'items', mode, retry, ...(mode === 'merge' && { key: ['id'] }) }),
      begin: async () => (unlock = await holdLock(url, 'items')),
      mend: () => unlock(),
    });
    expect([rows, events.at(-1)?.cause]).toEqual([6, undefined]);
    expect(await query('SELECT count(*) AS n FROM items')).toEqual([{ n: '6' }]);
  });

  test('that begins while the server is not ready waits for it, but not for what only a change mends', async () => {
    const { url, query, proxy } = await openThroughProxy();
    await proxy.become({ code: '57P03' });
    const { source, outage } = pagesWith(() => undefined);
    const ended = exportTo(source, postgres<Item>({ url, table: 'items', retry })).run();
    await outage('server not ready');
    await proxy.become('there');
    expect((await ended).rows).toBe(6);
    await query('CREATE ROLE outage_reader LOGIN');
    await query('ALTER ROLE outage_reader SET default_transaction_read_only = on');
    for (const code of ['28P01', '28000', '3D000', '42501', '22023']) {
      await proxy.become({ code });
      const { events, source: other } = pagesWith(() => undefined);
      await expect(exportTo(other, postgres<Item>({ url, table: 'others', retry })).run()).rejects.toMatchObject({
        code: 'sink',
        details: { code },
      });
      expect(events).toEqual([]);
    }
    await proxy.become('there');
    const asReader = url.replace('tester', 'outage_reader');
    await expect(exportTo(source, postgres<Item>({ url: asReader, table: 'new', retry })).run()).rejects.toMatchObject({
      details: { code: '25006' },
    });
  });

  test.each(['append', 'merge', 'replace'] as const)(
    'ends if another run has taken the table over meanwhile, and leaves what that one wrote: %s',
    async (mode) => {
      const { url, own, query, proxy } = await openThroughProxy();
      const options = { table: 'items', mode, retry, key: mode === 'append' ? undefined : ['id'] };
      const { source, outage } = pagesWith(() => proxy.become('refused'));
      const ended = exportTo(source, postgres<Item>({ url, ...options }), { commitEvery: 1 }).run();
      const isRefused = expect(ended).rejects.toMatchObject({
        code: 'lock',
        message: expect.stringContaining('taken over'),
      });
      await outage('connection refused');
      const other = pagesWith(() => undefined).source;
      const { rows } = await exportTo(other, postgres<Item>({ url: own, ...options, breakLock: true })).run();
      expect(rows).toBe(6);
      await proxy.become('there');
      await isRefused;
      expect(await query('SELECT count(*) AS n FROM items')).toEqual([{ n: '6' }]);
    },
  );

  test('names the run that holds the table while it waits for it', async () => {
    const { url, own, query, proxy } = await openThroughProxy();
    const { source, outage } = pagesWith(() => proxy.become('refused'));
    const options = { table: 'items', mode: 'append', retry } as const;
    const ended = exportTo(source, postgres<Item>({ url, ...options }), { commitEvery: 1 }).run();
    const isRefused = expect(ended).rejects.toMatchObject({ code: 'lock' });
    await outage('connection refused');
    const other = pagesWith(async () => {
      await proxy.become('there');
      await outage('locked by another run');
    });
    await exportTo(other.source, postgres<Item>({ url: own, ...options, breakLock: true }), { commitEvery: 1 }).run();
    await isRefused;
    expect(await query('SELECT count(*) AS n FROM items')).toEqual([{ n: '6' }]);
  });

  test('a mirror goes on with the generation that was under way, and its watch waits with it', async () => {
    const { url, query, proxy } = await openThroughProxy();
    let name = 'first';
    const { source, events, outage } = pagesWith(() => undefined);
    const stop = new AbortController();
    const mirror = postgresMirror<Item>({ url, table: 'items', key: ['id'], retry });
    const polled = createSource<Item>({
      name: 'items',
      identity: null,
      schema: itemSchema,
      ...(source.info.endpoint && { endpoint: source.info.endpoint }),
      fetch: () => Promise.resolve({ rows: itemsOf([1, 2], name), next: 'end' }),
    });
    const generations: number[] = [];
    let heard = (): void => undefined;
    const changes = watch(polled, {
      every: 20,
      state: mirror.state,
      onHealth({ generation = 0 }) {
        generations.push(generation);
        heard();
      },
    });
    const ended = exportTo(changes, mirror)
      .run({ signal: stop.signal })
      .catch((error: unknown) => error);
    const until = async (isThere: () => boolean): Promise<void> => {
      while (!isThere()) await new Promise<void>((resolve) => (heard = resolve));
    };
    await until(() => generations.includes(1));
    await proxy.become('refused');
    name = 'second';
    await outage('connection refused');
    await proxy.become('there');
    await until(() => generations.includes(2));
    const committed = generations.length;
    await until(() => generations.length > committed + 1);
    expect(await query('SELECT DISTINCT name FROM items ORDER BY 1')).toEqual([
      { name: 'second 1' },
      { name: 'second 2' },
    ]);
    expect(events.at(-1)?.cause).toBeUndefined();
    stop.abort('enough');
    await ended;
  });
});

test('D2 an export into a file of SQLite waits for a transaction of another program, which it names', async () => {
  const path = join(temporaryFolder(), 'items.sqlite');
  const other = new DatabaseSync(path);
  other.exec('CREATE TABLE others (id)');
  onTestEnd(async () => {
    other.close();
    await rm(path, { force: true });
  });
  const { rows, events } = await exportThrough('locked by another program', {
    sink: sqlite<Item>({ path, table: 'items', retry }),
    begin: async () => {
      for (let isBegun = false; !isBegun; await new Promise((resolve) => setImmediate(resolve)))
        try {
          other.exec('BEGIN IMMEDIATE');
          isBegun = true;
        } catch {
          // A transaction of the export is not over.
        }
    },
    mend: () => other.exec('ROLLBACK'),
  });
  expect([rows, events.at(-1)?.cause]).toEqual([6, undefined]);
  expect(other.prepare('SELECT count(*) AS n FROM items').all()).toEqual([{ n: 6 }]);
});
