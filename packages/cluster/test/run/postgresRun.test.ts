import { exportTo, PaginationError, type Json } from '@sluice/core';
import type { Claim } from '@sluice/core/kit';
import { postgres, type TableMode } from '@sluice/tables/postgres';
import pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { describe, expect, test } from 'vitest';
import { onTestEnd } from '../../../../scripts/testScope.js';
import { postgresPrograms } from '../../../../test/kit/postgresServer.js';
import { openEmptyPostgres } from '../../../tables/test/databases.js';
import { runPartition } from '../../src/index.js';
import { postgresRun, type PostgresRunOptions } from '../../src/postgres.js';
import type { Run, RunPlan } from '../../src/run/run.js';
import { TableRun, type Table } from './tableRun.js';

type Options = Omit<PostgresRunOptions, 'url' | 'table'>;

/** A plan in memory whose rows go to a table of a new database. */
async function startRun(table?: Table, options: Options = {}) {
  const database = await openEmptyPostgres();
  const plan = new TableRun(table);
  const target = () => postgresRun({ url: database.url, table: 'items', ...options });
  const submit = async (changes: Partial<RunPlan> = {}): Promise<Run> => {
    const run = await target().submit({ ...plan.plan, ...changes });
    onTestEnd(() => run.close?.());
    return run;
  };
  const open = async (): Promise<Run> => {
    const run = await target().open({ 'test.rows': plan.open });
    onTestEnd(() => run.close?.());
    return run;
  };
  const ids = async () => (await database.query('SELECT id FROM items')).map(({ id }) => id).sort();
  /** The staging tables. */
  const stages = () =>
    database.query("SELECT relname FROM pg_class WHERE relkind = 'r' AND relname ~ '^_sluice_[0-9a-f]{12}$'");
  return { database, plan, target, submit, open, ids, stages };
}

async function finish(plan: TableRun, run: Run): Promise<void> {
  for await (const partition of run.pending()) await plan.runPartition(run, partition);
}

/** The claim of a partition that is not done. */
async function claimed(run: Run, partition: number, restarts?: number): Promise<Claim<unknown>> {
  const claim = await run.claim(partition, restarts);
  if (typeof claim === 'string') throw new Error(`The partition is ${claim}.`);
  return claim;
}

/** Writes the next page of a claim, and returns whether it is the last one. */
async function writePage(run: Run, claim: Claim<unknown>, at: number): Promise<boolean> {
  const { source, partition } = await run.sourceOf(at);
  for await (const page of source.pages({ partition, ...(claim.startAt && { startAt: claim.startAt }) })) {
    await claim.write(page);
    return page.endsPartition;
  }
  throw new Error('There is no page.');
}

const rowsOf = (...ids: readonly string[]): object[] => ids.map((id) => ({ id }));
const idsOf = ({ rows }: TableRun): string[] => rows.map((row) => String('id' in row && row.id)).sort();
const longPartition: Table = [[[rowsOf('a'), rowsOf('b', 'c'), rowsOf('d')]]];

describe.runIf(postgresPrograms !== undefined)('a run into a table of PostgreSQL', () => {
  test('K2 shows its rows all at once, when its last partition is committed', async () => {
    const { plan, submit, open, ids, stages, database } = await startRun();
    const run = await submit();
    await database.query('CREATE TABLE items (id text)');
    const [last, ...others] = [2, 0, 1];
    for (const partition of others) await plan.runPartition(run, partition);
    expect(await ids()).toEqual([]);
    expect(await run.status()).toEqual({ partitions: 3, done: 2, rows: 3, isCancelled: false });
    expect(await stages()).toHaveLength(1);
    await plan.runPartition(await open(), last);
    expect(await ids()).toEqual(idsOf(plan));
    expect(await stages()).toEqual([]);
    expect(await run.status()).toEqual({ partitions: 3, done: 3, rows: plan.rows.length, isCancelled: false });
    expect(await run.claim(0)).toBe('done');
    expect(await plan.runPartition(run, 0)).toEqual({ outcome: 'done', rows: 0 });
  });

  test.each<[TableMode, readonly string[], Options]>([
    ['append', ['0.0', '0.0', '0.1', '0.2', '2.0', '2.1', '2.2', '2.3', 'old'], {}],
    ['replace', ['0.0', '0.1', '0.2', '2.0', '2.1', '2.2', '2.3'], {}],
    ['replace', ['0.0', '0.1', '0.2', '2.0', '2.1', '2.2', '2.3'], { key: ['id'] }],
    ['merge', ['0.0', '0.1', '0.2', '2.0', '2.1', '2.2', '2.3', 'old'], { key: ['id'] }],
  ])(
    'K2 in mode %s treats the rows of the table as an export does',
    { tags: ['slow'] },
    async (mode, expected, options) => {
      const { database, plan, submit, ids } = await startRun(undefined, { mode, ...options });
      await database.query("CREATE TABLE items AS SELECT unnest(ARRAY['0.0', 'old']) AS id");
      const run = await submit();
      await plan.runPartition(run, 0);
      expect(await ids()).toEqual(['0.0', 'old']);
      await finish(plan, run);
      expect(await ids()).toEqual(expected);
    },
  );

  test.each<[string, readonly string[], Options, string]>([
    ['maxRemoved', [], {}, '--max-removed 100% (maxRemoved) if they are really gone'],
    ['maxRemoved by key', ['0.0'], { key: ['id'] }, '--max-removed 100% (maxRemoved) if they are really gone'],
  ])(
    'D3 refuses to remove more than half of the rows (%s), and says what allows it',
    { tags: ['slow'] },
    async (_, kept, options, remedy) => {
      const { database, submit, ids, plan } = await startRun([[[rowsOf('0.0')]]], { mode: 'replace', ...options });
      const old = [...kept, ...Array.from({ length: 9 }, (_, nth) => `old ${nth}`)];
      await database.query(`CREATE TABLE items AS SELECT unnest(ARRAY['${old.join("', '")}']) AS id`);
      const run = await submit();
      await expect(finish(plan, run)).rejects.toThrow(
        new RegExp(
          `of ${old.length} rows would be removed from items, and maxRemoved is 50%. .*Cancel this run, and submit another one by another name, with ${remedy.replaceAll(/[()]/g, '.')}\\.$`,
        ),
      );
      expect(await ids()).toEqual(old.toSorted());
      await run.cancel();
      const all = postgresRun({ url: database.url, table: 'items', mode: 'replace', ...options, maxRemoved: '100%' });
      const next = await all.submit({ ...plan.plan, name: 'another' });
      onTestEnd(() => next.close?.());
      await finish(plan, next);
      expect(await ids()).toEqual(['0.0']);
    },
  );

  test.each(['merge', 'replace'] as const)(
    'D3 refuses rows of one key that its source tells apart with %s',
    { tags: ['slow'] },
    async (mode) => {
      const { database, plan, submit, stages } = await startRun(
        [[[[{ id: '1', of: 'a' }]], [[{ id: '2', of: 'b' }]]], [[[{ id: '3', of: 'a' }]]]],
        { mode, key: ['of'] },
      );
      plan.definition = { schema: { columns: ['id', 'of'], key: (row) => ('id' in row ? String(row.id) : '') } };
      await expect(finish(plan, await submit())).rejects.toThrow(
        /^1 of 3 rows have the same of as another one.* "1" and "3" \(of: "a"\)\. Nothing was changed\. Cancel this run, and submit another one by another name, with key columns that identify a row\./,
      );
      await expect(database.query('SELECT * FROM items')).rejects.toThrow('does not exist');
      expect(await stages()).toHaveLength(1);
    },
  );

  test(
    'K2 is not finished while a trigger of the table drops rows, and finished when that is gone',
    { tags: ['slow'] },
    async () => {
      const { database, plan, submit, ids } = await startRun(undefined, { mode: 'append' });
      for (const sql of [
        "CREATE TABLE items AS SELECT 'old'::text AS id",
        'CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$',
        "CREATE TRIGGER t BEFORE INSERT ON items FOR EACH ROW WHEN (NEW.id = '2.1') EXECUTE FUNCTION f()",
      ])
        await database.query(sql);
      const run = await submit();
      await expect(finish(plan, run)).rejects.toThrow('The table items has added 6 of 7 rows');
      expect(await ids()).toEqual(['old']);
      expect(await run.status()).toMatchObject({ partitions: 3, done: 2 });
      await database.query('DROP TRIGGER t ON items');
      await finish(plan, run);
      expect(await ids()).toEqual([...idsOf(plan), 'old']);
    },
  );

  test('K2 notices that somebody emptied its staging table', { tags: ['slow'] }, async () => {
    const { database, plan, submit, ids, stages } = await startRun();
    const run = await submit();
    await plan.runPartition(run, 0);
    const [stage] = await stages();
    await database.query(`DELETE FROM "${stage?.['relname']}" WHERE id = '0.1'`);
    await expect(finish(plan, run)).rejects.toThrow('has staged 7 rows, and 6 are there');
    expect(await ids().catch(() => [])).toEqual([]);
  });

  test('K2 refuses a table with rows, unless it is told what becomes of them', async () => {
    const { database, submit, stages } = await startRun();
    await database.query("CREATE TABLE items AS SELECT 'old'::text AS id");
    await expect(submit()).rejects.toThrow('The table items has rows already');
    expect(await stages()).toEqual([]);
    const { submit: submitByKey } = await startRun(undefined, { mode: 'append', key: ['id'] });
    await expect(submitByKey()).rejects.toThrow('A key is for merge and replace.');
  });

  test('K2 of a key in several partitions, the row of the last one in the plan stays', { tags: ['slow'] }, async () => {
    const piece = (note: string) => [[[{ id: 'a', note }], [{ id: 'b', note }]]];
    const { database, plan, submit } = await startRun([piece('1'), piece('2')], { mode: 'merge', key: ['id'] });
    plan.definition = { schema: { columns: ['id', 'note'] } };
    const run = await submit();
    for (const partition of [1, 0]) await plan.runPartition(run, partition);
    expect(await database.query('SELECT id, note FROM items ORDER BY id')).toEqual([
      { id: 'a', note: '2' },
      { id: 'b', note: '2' },
    ]);
  });

  test('adds a column that its definition has gained when it is submitted', { tags: ['slow'] }, async () => {
    const rows = [[[[{ id: 'a', note: '1' }]]]];
    const { database, plan, submit } = await startRun(rows, { mode: 'merge', key: ['id'], schema: 'evolve' });
    plan.definition = { schema: { columns: ['id', 'note'] } };
    await database.query("CREATE TABLE items AS SELECT unnest(ARRAY['a', 'old']) AS id");
    await finish(plan, await submit());
    expect(await database.query('SELECT id, note FROM items ORDER BY id')).toEqual([
      { id: 'a', note: '1' },
      { id: 'old', note: null },
    ]);
  });

  test('K2 continues where a save was, on any machine', async () => {
    const { plan, submit, open, ids } = await startRun(longPartition);
    const run = await submit();
    plan.onFetch = (_, page) => {
      if (page === 2) throw new Error('cut off');
    };
    await expect(plan.runPartition(run, 0)).rejects.toThrow('cut off');
    plan.onFetch = () => undefined;
    plan.fetched = 0;
    expect(await plan.runPartition(await open(), 0)).toEqual({ outcome: 'committed', rows: 1 });
    expect(plan.fetched).toBe(1);
    expect(await ids()).toEqual(idsOf(plan));
  });

  test('K2 lets the newest claim of a partition win, and refuses saves and commits of others', async () => {
    const { submit, ids, plan } = await startRun([[[rowsOf('a'), rowsOf('b')]], [[rowsOf('z')]]]);
    const run = await submit();
    const first = await claimed(run, 0);
    const other = await claimed(await submit(), 1);
    await writePage(run, first, 0);
    expect(await first.save()).toBe('accepted');
    await writePage(run, first, 0);
    const second = await claimed(run, 0);
    expect(await first.save()).toBe('refused');
    expect(await first.commit()).toBe('refused');
    expect(second.startAt).toBeDefined();
    expect(await writePage(run, second, 0)).toBe(true);
    expect(await second.commit()).toBe('accepted');
    expect(await run.claim(0)).toBe('done');
    await writePage(run, other, 1);
    expect(await other.commit()).toBe('accepted');
    expect(await ids()).toEqual(idsOf(plan));
  });

  test('K2 refuses a claim that wakes up when the staging table is gone', { tags: ['slow'] }, async () => {
    const { submit, open, ids, plan } = await startRun(longPartition);
    const run = await submit();
    const stale = await claimed(run, 0);
    await writePage(run, stale, 0);
    await finish(plan, await open());
    expect(await stale.save()).toBe('refused');
    expect(await stale.commit()).toBe('refused');
    expect(await ids()).toEqual(idsOf(plan));
  });

  test(
    'K5 discards the rows of a partition whose cursor has expired, and of no other one',
    { tags: ['slow'] },
    async () => {
      const { plan, submit, ids } = await startRun([[[rowsOf('x', 'y')]], [[rowsOf('a'), rowsOf('b')]]], {
        mode: 'append',
      });
      const run = await submit();
      await plan.runPartition(run, 0);
      let refused = 0;
      plan.onFetch = (_, page) => {
        if (page !== 1 || refused === 3) return;
        refused += 1;
        throw new PaginationError('cursor-refused', 'The cursor has expired.');
      };
      expect((await plan.runPartition(run, 1)).outcome).toBe('committed');
      expect(await ids()).toEqual(idsOf(plan));
      expect(await run.status()).toMatchObject({ rows: 4 });
    },
  );

  test('K2 saves rows before they fill the memory', { tags: ['slow'] }, async () => {
    const page = (at: number) => rowsOf(...Array.from({ length: 1_500 }, (_, row) => `${at}.${row}`));
    const { database, plan, submit } = await startRun([[Array.from({ length: 8 }, (_, at) => page(at))]]);
    const run = await submit();
    const saves: unknown[] = [];
    plan.onFetch = async () => {
      const [found] = await database.query('SELECT rows FROM _sluice_partitions');
      saves.push(found?.['rows']);
    };
    const { signal } = new AbortController();
    await runPartition({ run, partition: 0, signal, saveEvery: 60_000 });
    expect(new Set(saves)).toContain('6000');
    expect(await database.query('SELECT count(*) AS rows FROM items')).toEqual([{ rows: '12000' }]);
  });

  test('K4 is submitted again after an interruption, and refuses a changed plan', async () => {
    const table = new TableRun([[...Array.from({ length: 600 }, () => [[{ id: 'a' }]])]]);
    const { submit, open, database } = await startRun(table.table);
    const pieces = (count: number): Json[] => Array.from({ length: count }, () => ({ piece: 0 }));
    const interrupted = function* (): Generator<Json> {
      yield* pieces(2);
      throw new Error('cut off');
    };
    await expect(open()).rejects.toThrow('items has no run: nothing was submitted to it.');
    await expect(submit({ params: interrupted() })).rejects.toThrow('cut off');
    await expect(open()).rejects.toThrow('The plan of rows is not complete: submit it again, which resumes it.');
    expect(await database.query('SELECT first FROM _sluice_plans')).toHaveLength(1);
    const run = await submit({ params: pieces(3) });
    expect(run.partitions).toBe(1_800);
    expect((await submit({ params: pieces(3) })).header.id).toBe(run.header.id);
    expect(await run.sourceOf(1_799)).toMatchObject({ partition: 599 });
    await expect(run.sourceOf(1_800)).rejects.toThrow('rows has no partition 1800');
    for (const count of [2, 4]) await expect(submit({ params: pieces(count) })).rejects.toThrow('has another plan');
    const ids = await Promise.all([1, 2, 3].map(async () => (await submit({ params: pieces(3) })).header.id));
    expect(new Set(ids)).toEqual(new Set([run.header.id]));
  });

  test.each<[TableMode, boolean]>([
    ['merge', true],
    ['replace', true],
    ['append', false],
    ['fail', false],
  ])(
    'K4 a finished run with %s is followed by a new one of its name: %s',
    { tags: ['slow'] },
    async (mode, isFollowed) => {
      const key = isFollowed && { key: ['id'] };
      const { submit, plan, ids } = await startRun(longPartition, { mode, ...key });
      const first = await submit();
      const again = await submit();
      expect(again.header.id).toBe(first.header.id);
      await finish(plan, first);
      const next = await submit();
      expect(next.header.id === first.header.id).toBe(!isFollowed);
      expect(await next.status()).toMatchObject({ done: isFollowed ? 0 : 1 });
      // A submit that was cut off is repeated.
      expect((await submit()).header.id).toBe(next.header.id);
      await finish(plan, next);
      expect(await ids()).toEqual(['a', 'b', 'c', 'd']);
    },
  );

  test.each<[string, boolean]>([
    ['of the same claim', false],
    ['before its worker was killed', true],
  ])(
    'D3 replace removes nothing after a page %s was incomplete, and says how many rows stay',
    { tags: ['slow'] },
    async (_, isKilled) => {
      const { database, plan, submit, ids } = await startRun([[[rowsOf('a'), rowsOf('b')], [rowsOf('c')]]], {
        mode: 'replace',
        key: ['id'],
      });
      await database.query("CREATE TABLE items AS SELECT unnest(ARRAY['a', 'old', 'older']) AS id");
      plan.answer = (partition, page) => (partition === 0 && page === 0 ? { isIncomplete: true } : {});
      const run = await submit();
      if (isKilled) {
        const claim = await claimed(run, 0);
        await writePage(run, claim, 0);
        expect(await claim.save()).toBe('accepted');
      }
      expect(await run.status()).toEqual({ partitions: 2, done: 0, rows: 0, isCancelled: false });
      await finish(plan, run);
      expect(await ids()).toEqual(['a', 'b', 'c', 'old', 'older']);
      const end = { partitions: 2, done: 2, rows: 3, isCancelled: false, isIncomplete: true, rowsNotRemoved: 2 };
      expect(await run.status()).toEqual(end);
      // The next night is complete.
      plan.answer = () => ({});
      const next = await submit();
      await finish(plan, next);
      expect(await ids()).toEqual(['a', 'b', 'c']);
      expect(await next.status()).toEqual({ partitions: 2, done: 2, rows: 3, isCancelled: false });
    },
  );

  test.each<[string, number | undefined, object | undefined]>([
    ['short of them', 5, { shortOfTotal: { total: 5, listed: 4 } }],
    ['longer than they say', 3, { overTotal: { total: 3, listed: 4 } }],
    ['as long as they say', 4, undefined],
    ['without any', undefined, undefined],
  ])(
    'P10 a finished run whose partitions are %s says so, with both numbers',
    { tags: ['slow'] },
    async (_, total, gap = {}) => {
      const { plan, submit, ids } = await startRun(longPartition, { mode: 'replace', key: ['id'] });
      plan.answer = () => (total === undefined ? {} : { total });
      const run = await submit();
      const claim = await claimed(run, 0);
      await writePage(run, claim, 0);
      expect(await claim.save()).toBe('accepted');
      const before = await run.status();
      expect([before.shortOfTotal, before.overTotal]).toEqual([undefined, undefined]);
      await finish(plan, run);
      expect(await ids()).toEqual(['a', 'b', 'c', 'd']);
      const { shortOfTotal, overTotal } = await run.status();
      expect({ shortOfTotal, overTotal }).toEqual({ shortOfTotal: undefined, overTotal: undefined, ...gap });
      plan.answer = () => ({ isIncomplete: true, total: 5 });
      const next = await submit();
      await finish(plan, next);
      expect(await next.status()).toMatchObject({ isIncomplete: true });
      expect(await next.status()).not.toHaveProperty('shortOfTotal');
    },
  );

  describe('D3 the next run of replace, one of whose three partitions is short of its total', () => {
    const three: Table = [[[rowsOf('a', 'b')], [rowsOf('c', 'd'), rowsOf('e')], [rowsOf('f')]]];
    const startShort = async (options: Options) => {
      const started = await startRun(three, { mode: 'replace', ...options });
      await finish(started.plan, await started.submit());
      await started.database.query("INSERT INTO items VALUES ('old')");
      started.plan.answer = (partition) => (partition === 1 ? { total: 5 } : {});
      return { ...started, run: await started.submit() };
    };

    test.each([
      ['in order', [0, 1, 2]],
      ['with the short one last', [2, 0, 1]],
    ])('removes no row, and says how many stay, with the partitions %s', { tags: ['slow'] }, async (_, order) => {
      const { plan, run, ids, submit } = await startShort({ key: ['id'] });
      for (const partition of order) await plan.runPartition(run, partition);
      expect(await ids()).toEqual(['a', 'b', 'c', 'd', 'e', 'f', 'old']);
      const short = { rowsNotRemoved: 1, shortOfTotal: { total: 5, listed: 3 } };
      expect(await run.status()).toEqual({ partitions: 3, done: 3, rows: 6, isCancelled: false, ...short });
      plan.answer = (partition) => ({ total: [2, 3, 1][partition] ?? 0 });
      await finish(plan, await submit());
      expect(await ids()).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
    });

    test.each([[{ key: ['id'] }], [{}]])(
      'removes rows if the total counts something else, with %j',
      { tags: ['slow'] },
      async (key) => {
        const { plan, run, ids } = await startShort({ ...key, requireTotal: false });
        await finish(plan, run);
        expect(await ids()).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
        expect(await run.status()).toMatchObject({ shortOfTotal: { total: 5, listed: 3 } });
        expect(await run.status()).not.toHaveProperty('rowsNotRemoved');
      },
    );

    test('leaves the table as it was without a key, and says what to do', { tags: ['slow'] }, async () => {
      const { plan, run, ids } = await startShort({});
      await expect(finish(plan, run)).rejects.toThrow(
        /the API's total of rows is 5, but it listed 3\. .* with key columns, or with --no-require-total \(requireTotal: false\) if the total counts something else\.$/,
      );
      expect(await ids()).toEqual(['a', 'b', 'c', 'd', 'e', 'f', 'old']);
    });

    test('keeps its other modes as they were', { tags: ['slow'] }, async () => {
      const { plan, submit, ids, database } = await startRun(three, { mode: 'append' });
      await database.query("CREATE TABLE items AS SELECT 'old'::text AS id");
      plan.answer = () => ({ total: 5 });
      await finish(plan, await submit());
      expect(await ids()).toEqual(['a', 'b', 'c', 'd', 'e', 'f', 'old']);
    });
  });

  test('D3 an incomplete page counts for nothing once its partition has started over', { tags: ['slow'] }, async () => {
    const { database, plan, submit, ids } = await startRun(longPartition, {
      mode: 'replace',
      key: ['id'],
      maxRemoved: '100%',
    });
    await database.query("CREATE TABLE items AS SELECT 'old'::text AS id");
    plan.answer = (_, page) => (page === 0 ? { isIncomplete: true } : {});
    const run = await submit();
    const claim = await claimed(run, 0);
    await writePage(run, claim, 0);
    expect(await claim.save()).toBe('accepted');
    plan.answer = () => ({});
    let isExpired = false;
    plan.onFetch = () => {
      if (isExpired) return;
      isExpired = true;
      throw new PaginationError('cursor-refused', 'The cursor has expired.');
    };
    await finish(plan, run);
    expect(await ids()).toEqual(['a', 'b', 'c', 'd']);
    expect(await run.status()).not.toHaveProperty('isIncomplete');
  });

  test.each<[TableMode, Options, readonly string[]]>([
    ['append', {}, ['a', 'b', 'c', 'd', 'old']],
    ['merge', { key: ['id'] }, ['a', 'b', 'c', 'd', 'old']],
  ])('D3 an incomplete run with %s says so', { tags: ['slow'] }, async (mode, options, expected) => {
    const { database, plan, submit, ids } = await startRun(longPartition, { mode, ...options });
    await database.query("CREATE TABLE items AS SELECT 'old'::text AS id");
    plan.answer = () => ({ isIncomplete: true });
    const run = await submit();
    await finish(plan, run);
    expect(await ids()).toEqual(expected);
    expect(await run.status()).toEqual({ partitions: 1, done: 1, rows: 4, isCancelled: false, isIncomplete: true });
  });

  test(
    'D3 without a key, replace leaves the table as it was after an incomplete page',
    { tags: ['slow'] },
    async () => {
      const { database, plan, submit, ids } = await startRun(longPartition, { mode: 'replace' });
      await database.query("CREATE TABLE items AS SELECT 'old'::text AS id");
      plan.answer = () => ({ isIncomplete: true });
      const run = await submit();
      await expect(finish(plan, run)).rejects.toThrow(
        /^The walk was incomplete, so no row of items may be removed: .* Cancel this run, and submit another one by another name, with key columns\.$/,
      );
      expect(await ids()).toEqual(['old']);
      expect(await run.status()).toMatchObject({ partitions: 1, done: 0 });
    },
  );

  test('K3 refuses another source, key, definition or options', { tags: ['slow'] }, async () => {
    const { target, plan, submit, database } = await startRun();
    const run = await submit();
    await expect(submit({ source: 'test.others' })).rejects.toThrow('items has a run rows of test.rows');
    const merged = postgresRun({ url: database.url, table: 'items', mode: 'append' });
    await expect(merged.submit(plan.plan)).rejects.toThrow('was submitted to items with other options');
    await expect((await target().open()).claim(0)).rejects.toThrow('needs the source test.rows');
    plan.definition = { identity: 'another' };
    await expect((await target().open({ 'test.rows': plan.open })).claim(0)).rejects.toThrow(
      'is not the one that was submitted',
    );
    expect(await run.status()).toMatchObject({ done: 0 });
    expect(await database.query('SELECT * FROM _sluice_partitions')).toEqual([]);
  });

  test('K2 takes one run after the other into a table', { tags: ['slow'] }, async () => {
    const { plan, submit, ids, database } = await startRun(longPartition, { mode: 'append' });
    const run = await submit();
    await expect(submit({ name: 'second' })).rejects.toThrow(
      'The table items has the run rows, which is not finished. Let workers finish it, or cancel it.',
    );
    await finish(plan, run);
    const second = await submit({ name: 'second' });
    expect(await submit()).toMatchObject({ header: { id: run.header.id } });
    await finish(plan, second);
    expect(await ids()).toEqual([...idsOf(plan), ...idsOf(plan)].sort());
    expect(await run.clean()).toBe(1);
    expect(await run.claim(0)).toBe('done');
    await finish(plan, run);
    expect(await second.status()).toMatchObject({ done: 1, rows: 4 });
    expect(await database.query('SELECT run FROM _sluice_partitions')).toEqual([{ run: second.header.id }]);
  });

  test('K5 commits nothing after it was cancelled, and makes room for another run', { tags: ['slow'] }, async () => {
    const { plan, submit, open, stages, database } = await startRun(longPartition);
    const run = await submit();
    const claim = await claimed(run, 0);
    await writePage(run, claim, 0);
    await (await open()).cancel();
    expect(await claim.save()).toBe('cancelled');
    expect(await claim.commit()).toBe('cancelled');
    expect(await run.claim(0)).toBe('cancelled');
    expect(await run.status()).toMatchObject({ done: 0, isCancelled: true });
    const other = await submit({ name: 'second' });
    await run.clean();
    expect(await stages()).toHaveLength(1);
    await finish(plan, other);
    expect(await database.query('SELECT id FROM items')).toHaveLength(4);
    // A run that is finished stays so.
    await other.cancel();
    expect(await other.status()).toMatchObject({ isCancelled: false });
  });

  test(
    'K2 keeps exports of the table off while workers hold it, and is kept off by them',
    { tags: ['slow'] },
    async () => {
      const { database, plan, submit, open } = await startRun(longPartition, { mode: 'append' });
      const { url } = database;
      const exported = (of = plan) =>
        exportTo(of.source(0), postgres<object>({ url, table: 'items', mode: 'append' })).run();
      const run = await submit();
      await claimed(run, 0);
      await expect(exported()).rejects.toThrow(
        /^The table items is being written by a run of several workers, e\.g\. sluice \d+ /,
      );
      await run.close?.();
      const slow = new TableRun(longPartition);
      const refused: unknown[] = [];
      slow.onFetch = async (_, page) => {
        if (page !== 1) return;
        const worker = await open();
        for (const attempt of [() => worker.claim(0), () => submit({ name: 'second' })])
          refused.push(await attempt().then(String, String));
        expect(await worker.status()).toMatchObject({ done: 0 });
      };
      await exported(slow);
      expect(refused).toHaveLength(2);
      for (const error of refused) expect(error).toMatch(/^LockError: The table items is being written by sluice \d+/);
      await finish(plan, run);
      expect(await database.query('SELECT id FROM items')).toHaveLength(8);
    },
  );

  test('K2 is finished though a worker stopped while it sent rows', { tags: ['slow'] }, async () => {
    const { database, plan, submit, ids, stages } = await startRun(longPartition);
    const run = await submit();
    const [stage] = await stages();
    const stopped = new pg.Client({ connectionString: database.url, application_name: 'sluice 1' });
    const ended = new Promise((resolve) => stopped.on('error', resolve));
    await stopped.connect();
    await stopped.query('BEGIN');
    const copy = stopped.query(copyFrom(`COPY ${stage?.['relname'] ?? ''} (id, _sluice_order) FROM STDIN`));
    copy.on('error', () => undefined);
    await new Promise((resolve) => copy.write('x\t1\n', resolve));
    await finish(plan, run);
    expect(await ids()).toEqual(idsOf(plan));
    await ended;
  });

  test('K10 has neither the key nor a password in its database and its address', async () => {
    const { database, plan } = await startRun();
    const url = new URL(database.url);
    url.password = 'hunter22hunter22';
    plan.definition = { endpoint: { keyFingerprint: async (salt: string) => `hash of ${salt}` } };
    const target = postgresRun({ url: url.href, table: 'items' });
    const run = await target.submit(plan.plan);
    onTestEnd(() => run.close?.());
    expect(target.address).toBe(`${database.url}?table=items`);
    for (const table of ['_sluice_runs', '_sluice_plans', '_sluice_partitions'])
      expect(JSON.stringify(await database.query(`SELECT * FROM ${table}`))).not.toContain('hunter22');
    url.pathname = '/nowhere';
    const nowhere = postgresRun({ url: url.href, table: 'items' }).open();
    const error = await nowhere.then(String, (fault: unknown) => JSON.stringify(fault) + String(fault));
    expect(error).toContain('database "nowhere" does not exist');
    expect(error).not.toContain('hunter22');
  });
});
