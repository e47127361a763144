import { createSource, exportTo, watch, type Change, type RowSchema, type Source } from '@sluice/core';
import { expect, test } from 'vitest';
import { SkippingClock } from '../../core/test/rows/watch/skippingClock.js';
import type { HistoryChangesOptions } from '../src/sqlite.js';
import { describeDatabases, type TestDatabase } from './databases.js';

type Row = Readonly<Record<string, unknown>>;

/** A source that lists other rows each time, of which the last ones stay. */
function listed(times: readonly (readonly Row[])[], schema: RowSchema<Row>): Source<Row> {
  let walks = 0;
  return createSource<Row>({
    name: 'shop.orders',
    identity: null,
    schema,
    fetch: () => Promise.resolve({ rows: times[Math.min(walks++, times.length - 1)] ?? [], next: 'end' }),
  });
}

function watched(times: readonly (readonly Row[])[], schema: RowSchema<Row>, options: object = {}) {
  const polls = times.length;
  const once = { confirmations: 1, acceptRemovals: true, holdAbove: 1 } as const;
  return watch(listed(times, schema), { every: 1_000, clock: new SkippingClock(), polls, ...once, ...options });
}

async function listOf<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

async function changesOf(database: TestDatabase, options?: HistoryChangesOptions): Promise<Change<Row>[]> {
  return database.readHistory('orders', async (history) => listOf(history.changes(options)));
}

/** Each change is found by the key that it has. */
async function checkKeys(database: TestDatabase, keys: readonly string[]): Promise<void> {
  const changes = await changesOf(database);
  expect(changes.map(({ key }) => key).sort()).toEqual([...keys].sort());
  for (const key of new Set(keys)) {
    const found = await changesOf(database, { key });
    expect([key, found]).toEqual([key, changes.filter((change) => change.key === key)]);
  }
}

describeDatabases('reading a history in $name', ({ open, name }) => {
  test('D9 finds a row of an export by its key in the source, which is a number or any text', async () => {
    const database = await open();
    const rows = [5, '#5', '"#6"', '#"7"', -8, 'a'].map((id) => ({ id }));
    const schema: RowSchema<Row> = { columns: ['id'], key: ({ id }) => (typeof id === 'number' ? id : String(id)) };
    await exportTo(listed([rows], schema), database.sink<Row>({ table: 'orders', mode: 'history' })).run();
    await checkKeys(database, ['5', '#5', '"#6"', '#"7"', '-8', 'a']);
    expect(await changesOf(database, { key: '#-8' })).toEqual([]);
  });

  test('D9 finds a row of a watch by its key, which is text', async () => {
    const database = await open();
    const mirror = database.mirror<Row>({ table: 'orders', mode: 'history' });
    const schema: RowSchema<Row> = { columns: ['id'], key: ({ id }) => String(id) };
    const ids = ['5', '#5', '#"7"', 'a\0b'];
    await exportTo(watched([ids.map((id) => ({ id }))], schema, { state: mirror.state }), mirror).run();
    await checkKeys(database, ids);
  });

  const types = { nr: 'integer', price: 'number', at: 'timestamp', open: 'boolean' } as const;
  const typed = [
    { nr: 7, price: 1.5, at: '2026-03-01T12:00:00.250Z', open: true, name: 'b' },
    { nr: 12345678901234567890n, price: '0.25', at: '2026-03-02T12:00:00.000Z', open: false, name: 'a' },
  ];
  test.each([
    [['nr'], ['7', '12345678901234567890']],
    [['price'], ['1.5', '0.25']],
    [['at'], ['2026-03-01T12:00:00.250Z', '2026-03-02T12:00:00.000Z']],
    [['open'], ['true', 'false']],
    [
      ['name', 'at', 'nr'],
      ['["b","2026-03-01T12:00:00.250Z","7"]', '["a","2026-03-02T12:00:00.000Z","12345678901234567890"]'],
    ],
  ])('D9 finds a row by key columns of any type, in the order in which they were named: %s', async (key, keys) => {
    const database = await open();
    const sink = database.sink<Row>({ table: 'orders', mode: 'history', key });
    await exportTo(listed([typed], { columns: ['nr', 'price', 'at', 'open', 'name'], types }), sink).run();
    await checkKeys(database, keys);
  });

  test('D9 finds no row by a key that its columns can not have, or says so', async () => {
    const database = await open();
    const sink = database.sink<Row>({ table: 'orders', mode: 'history', key: ['nr', 'open'] });
    await exportTo(listed([typed], { columns: ['nr', 'price', 'at', 'open', 'name'], types }), sink).run();
    expect(await changesOf(database, { key: '["8","true"]' })).toEqual([]);
    const found = changesOf(database, { key: '["x","true"]' });
    if (name === 'SQLite') expect(await found).toEqual([]);
    else await expect(found).rejects.toThrow(/invalid input syntax for type numeric: "x"/);
    await expect(changesOf(database, { key: '["7"]' })).rejects.toThrow(
      /nr, open: give a JSON array with their values/,
    );
  });

  test('D9 has the changes of the watch: kinds of values, and the name of their source', async () => {
    const order = {
      id: 1,
      price: 1.25,
      amount: '9',
      isOpen: true,
      tags: ['a'],
      title: 'A',
      plain: 3,
      nested: { a: 1 },
      none: null,
    };
    const times = [
      [order, { ...order, id: 2, title: '5', tags: 'text' }],
      [
        { ...order, price: 1e21, isOpen: false, plain: -0.5 },
        { ...order, id: 2, tags: { b: [1] } },
      ],
      [{ ...order, id: 2, nested: { a: 2 }, amount: '09' }],
    ];
    const schema: RowSchema<Row> = {
      columns: Object.keys(order),
      types: { id: 'integer', price: 'number', isOpen: 'boolean', tags: 'json' },
      key: ({ id }) => Number(id),
    };
    const emitted = await listOf(watched(times, schema));
    const database = await open();
    const mirror = database.mirror<Row>({ table: 'orders', mode: 'history', key: ['id'] });
    await exportTo(watched(times, schema, { state: mirror.state }), mirror).run();
    const plain = ({ type, key, before, after, fields, generation }: Change<Row>) => ({
      type,
      key,
      before,
      after,
      fields: [...fields].sort(),
      generation,
    });
    const seen = (await changesOf(database)).map(plain);
    expect(seen).toHaveLength(emitted.length);
    expect(seen).toEqual(expect.arrayContaining(emitted.map(plain)));
    expect(await database.readHistory('orders', ({ source }) => Promise.resolve(source))).toBe('shop.orders');
  });

  test.each([{ ignore: ['seen', 'stats'] }, { project: ['status'] }])(
    'D9 names the fields that the watch compares: %j',
    async (compared) => {
      const row = (status: string, seen: number): Row => ({ id: 1, status, seen, stats: { seen } });
      const times = [[row('a', 1)], [row('a', 2)], [row('b', 3)]];
      const schema: RowSchema<Row> = { columns: ['id', 'status', 'seen', 'stats'], key: ({ id }) => Number(id) };
      const database = await open();
      const mirror = database.mirror<Row>({ table: 'orders', mode: 'history', key: ['id'] });
      await exportTo(watched(times, schema, { state: mirror.state, ...compared }), mirror).run();
      const changes = await changesOf(database);
      expect(changes.map(({ fields, after }) => [fields, after])).toEqual([
        [[], row('a', 1)],
        [['status'], row('b', 3)],
      ]);
      const versions = { columns: ['seen', 'none'] };
      const read = await database.readHistory('orders', async (history) => listOf(history.versions(versions)));
      expect(read.map(({ key, row }) => [key, row])).toEqual([
        ['1', { seen: 1 }],
        ['1', { seen: 3 }],
      ]);
    },
  );

  test('D9 knows the values of a column that was added later, and those that no later run has seen', async () => {
    const database = await open();
    const mirror = database.mirror<Row>({ table: 'orders', mode: 'history', key: ['id'] });
    const run = (rows: readonly Row[], columns: readonly string[]): Promise<unknown> => {
      const types = columns.includes('tags') ? ({ tags: 'json' } as const) : {};
      const schema: RowSchema<Row> = { columns, types, key: ({ id }) => Number(id) };
      return exportTo(watched([rows], schema, { state: mirror.state }), mirror).run();
    };
    await run([{ id: 1, price: 5 }], ['id', 'price']);
    await database.query(`ALTER TABLE orders ADD COLUMN tags ${name === 'SQLite' ? 'TEXT' : 'json'}`);
    await run([{ id: 1, price: 6, tags: ['a'] }], ['id', 'price', 'tags']);
    expect((await changesOf(database)).map(({ after }) => after)).toEqual([
      { id: 1, price: 5, tags: null },
      { id: 1, price: 6, tags: ['a'] },
    ]);
  });

  test('D9 knows that a column had texts whichever run saw them, also one that was interrupted', async () => {
    const database = await open();
    const schema: RowSchema<Row> = { columns: ['id', 'value', 'other'] };
    const run = (rows: readonly Row[], failsAt?: number): Promise<unknown> => {
      const source = createSource<Row>({
        name: 'shop.orders',
        identity: null,
        schema,
        fetch({ at }) {
          const page = at && 'cursor' in at ? Number(at.cursor) : 0;
          if (page === failsAt) return Promise.reject(new Error('The API is gone.'));
          const next = page + 1 < rows.length ? { cursor: String(page + 1) } : ('end' as const);
          return Promise.resolve({ rows: rows.slice(page, page + 1), next });
        },
      });
      const sink = database.sink<Row>({ table: 'orders', mode: 'history', key: ['id'] });
      return exportTo(source, sink, { commitEvery: 1 }).run();
    };
    const rows = [
      { id: 'a', value: '5', other: 7 },
      { id: 'b', value: 6, other: null },
    ];
    await expect(run(rows, 1)).rejects.toThrow('The API is gone.');
    await run(rows);
    await run([{ id: 'a', value: 6, other: 8 }]);
    expect((await changesOf(database)).map(({ after }) => after)).toEqual([
      rows[0],
      { id: 'b', value: '6', other: null },
      { id: 'a', value: '6', other: 8 },
    ]);
  });

  test('D9 knows that a column has texts since a poll after the first one', async () => {
    const database = await open();
    const mirror = database.mirror<Row>({ table: 'orders', mode: 'history', key: ['id'] });
    const schema: RowSchema<Row> = { columns: ['id', 'value'], key: ({ id }) => String(id) };
    const times = [5, '6'].map((value) => [{ id: 'a', value }]);
    await exportTo(watched(times, schema, { state: mirror.state }), mirror).run();
    expect((await changesOf(database)).map(({ after }) => after?.['value'])).toEqual(['5', '6']);
  });

  test('D9 gives instants to the microsecond, and finds rows by them', async () => {
    const database = await open();
    const mirror = database.mirror<Row>({ table: 'orders', mode: 'history', key: ['at'] });
    const types = { at: 'timestamp', seen: 'timestamp' } as const;
    const schema: RowSchema<Row> = { columns: ['at', 'seen'], types, key: ({ at }) => String(at) };
    const seen = ['2026-03-01T12:00:00.000Z', '2026-03-01T12:00:00.000001Z', '0001-01-01T00:00:00.000Z', null];
    const keys = ['2026-03-01T12:00:00.000001Z', '2026-03-01T12:00:00.000002Z'];
    const times = seen.map((value) => keys.map((at) => ({ at, seen: value })));
    await exportTo(watched(times, schema, { state: mirror.state }), mirror).run();
    await checkKeys(database, [...keys, ...keys, ...keys, ...keys].sort());
    const changes = await changesOf(database, { key: keys[1] });
    expect(changes.map(({ after, fields }) => [after, fields])).toEqual(
      seen.map((value, nth) => [{ at: keys[1], seen: value }, nth === 0 ? [] : ['seen']]),
    );
    const versions = await database.readHistory('orders', async (history) => listOf(history.versions()));
    expect(versions.map(({ key, row }) => [key, row['seen']])).toEqual(
      keys.flatMap((key) => seen.map((value) => [key, value])),
    );
  });

  test('D9 gives a number of a column that has texts, too, as the table has it', async () => {
    const database = await open();
    const rows = [5, '5', true].map((value, id) => ({ id, value }));
    const schema: RowSchema<Row> = { columns: ['id', 'value'] };
    const sink = database.sink<Row>({ table: 'orders', mode: 'history', key: ['id'] });
    await exportTo(listed([rows], schema), sink).run();
    expect((await changesOf(database)).map(({ after }) => after)).toEqual([
      { id: 0, value: '5' },
      { id: 1, value: '5' },
      { id: 2, value: 'true' },
    ]);
  });

  test('D9 reads the changes of a row of tens of thousands of versions', { tags: ['slow'] }, async () => {
    const database = await open();
    const row = { id: 'a', tag: '0' };
    const schema: RowSchema<Row> = { columns: ['id', 'tag'] };
    const sink = database.sink<Row>({ table: 'orders', mode: 'history', key: ['id'] });
    await exportTo(listed([[row]], schema), sink).run();
    const start = Date.UTC(2030, 0, 1);
    const versions = Array.from({ length: 30_000 }, (_, nth) => {
      const [from, to] = [nth, nth + 1].map((second) => new Date(start + second * 1_000).toISOString());
      return `('b', '${nth}', '${from}', '${to}', 'changed', 2)`;
    });
    await database.query(`INSERT INTO orders VALUES ${versions.join(', ')}`);
    const changes = await changesOf(database, { key: 'b' });
    const pairs = changes.map(({ before, after }) => [before?.['tag'], after?.['tag']]);
    expect(pairs).toEqual(versions.map((_, nth) => [nth === 0 ? undefined : String(nth - 1), String(nth)]));
  });
});
