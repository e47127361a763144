import { ConfigError, createSource, exportTo, systemClock, type Clock, type ExportOptions } from '@sluice/core';
import { expect, test } from 'vitest';
import { casesOf } from '../../../scripts/testEffort.js';
import { Random } from '../../../test/kit/random.js';
import type { TableOptions } from '../src/sqlite.js';
import { describeDatabases, type TestDatabase } from './databases.js';
import { itemSource, type Item } from './items.js';
import { Items, mirrored, msOf } from './watched.js';

const item = (id: number, name: string): Item => ({ id, name, amount: '9007199254740993' });

/** Its wall clock begins in 2030, and is set by hand. */
class WallClock implements Clock {
  time = 0;
  readonly monotonic = systemClock.monotonic;
  readonly after = systemClock.after;

  now(): number {
    return Date.UTC(2030, 0, 1) + this.time;
  }
}

describeDatabases('a history of exports into $name', ({ open }) => {
  interface Night extends Pick<ExportOptions, 'clock' | 'restart'> {
    readonly pages?: readonly (readonly Item[])[];
    readonly isIncomplete?: boolean;
    /** Fails there. */
    readonly failsAt?: number;
    readonly columns?: TableOptions['columns'];
  }

  const night = (database: TestDatabase, { pages = [], isIncomplete, failsAt, columns, ...options }: Night) => {
    const source = createSource<Item>({
      name: 'items',
      identity: null,
      schema: { columns: ['id', 'name', 'amount'], types: { id: 'integer' }, key: ({ id }) => id },
      fetch({ at }) {
        const page = at && 'cursor' in at ? Number(at.cursor) : 0;
        if (page === failsAt) return Promise.reject(new Error('The API is gone.'));
        if (options.clock instanceof WallClock) options.clock.time += 60_000;
        return Promise.resolve({
          rows: pages[page] ?? [],
          next: page + 1 < pages.length ? { cursor: String(page + 1) } : 'end',
          ...(isIncomplete && { isIncomplete: true as const }),
        });
      },
    });
    const sink = database.sink<Item>({ table: 'items', mode: 'history', key: ['id'], columns });
    return exportTo(source, sink, { commitEvery: 1, ...options }).run();
  };
  const versions = async (database: TestDatabase): Promise<string[]> => {
    const rows = await database.query('SELECT id, name, _generation, _ended FROM items ORDER BY id, _generation');
    return rows.map((row) => Object.values(row).join(' ').trim());
  };

  test('D9 ends tens of thousands of rows that two complete walks lack', { tags: ['slow'] }, async () => {
    const database = await open();
    await night(database, { pages: [[item(1, 'a')]] });
    const gone = Array.from({ length: 60_000 }, (_, nth) => `(${nth + 2}, 'b', '1', '2026-01-01T00:00:00.000Z', 1)`);
    await database.query(`INSERT INTO items (id, name, amount, _valid_from, _generation) VALUES ${gone.join(', ')}`);
    for (const live of ['60001', '1']) {
      await night(database, { pages: [[item(1, 'a')]] });
      expect(await database.query('SELECT count(*) AS live FROM items_now')).toEqual([{ live }]);
    }
  });

  test('D9 writes a version where a row differs, and ends one that two complete walks lack', async () => {
    const database = await open();
    await night(database, { pages: [[item(1, 'a'), item(2, 'b')], [item(3, 'c')]] });
    await night(database, { pages: [[item(1, 'a'), item(2, 'bb')]] });
    const afterOne = ['1 a 1', '2 b 1 changed', '2 bb 2', '3 c 1'];
    expect(await versions(database)).toEqual(afterOne);
    // It was only left out once.
    await night(database, { pages: [[item(1, 'a'), item(2, 'bb')], [item(3, 'c')]] });
    await night(database, { pages: [[item(1, 'a'), item(2, 'bb')]] });
    expect(await versions(database)).toEqual(afterOne);
    const report = await night(database, { pages: [[item(2, 'bb')]], isIncomplete: true });
    expect(report.rowsNotRemoved).toBe(2);
    expect(await versions(database)).toEqual(afterOne);
    await night(database, { pages: [[item(1, 'a'), item(2, 'bb')]] });
    expect(await versions(database)).toEqual(['1 a 1', '2 b 1 changed', '2 bb 2', '3 c 1 removed']);
    await night(database, { pages: [[item(1, 'a'), item(3, 'c')]] });
    expect(await versions(database)).toEqual(['1 a 1', '2 b 1 changed', '2 bb 2', '3 c 1 removed', '3 c 7']);
    const polls = await database.query('SELECT generation, complete FROM items_polls ORDER BY generation');
    expect(polls.map(({ generation, complete }) => `${generation} ${/^[1t]/.test(complete ?? '')}`)).toEqual(
      [1, 2, 3, 4, 5, 6, 7].map((nth) => `${nth} ${nth !== 5}`),
    );
  });

  test(
    'D9 after random nights, at the time of each, it has what two walks in a row have told',
    { tags: ['slow'] },
    async () => {
      const database = await open();
      const random = new Random('nights of a history');
      let listed = new Map<number, Item>();
      /** What the table has to have, and what of it the last complete walk lacked. */
      const live = new Map<number, Item>();
      let lacked = new Set<number>();
      const told: string[] = [];
      const inShort = (rows: Iterable<Pick<Item, 'id' | 'name'>>): string =>
        Array.from(rows, ({ id, name }) => `${id} ${name}`)
          .sort()
          .join();
      for (let count = casesOf(25); count > 0; count -= 1) {
        listed = new Map([...listed].filter(() => random.chance(0.8)));
        for (let nth = random.int(0, 4); nth > 0; nth -= 1) {
          const id = random.int(1, 12);
          listed.set(id, item(id, `name ${random.int(1, 3)}`));
        }
        const rows = [...listed.values()];
        const pages = [rows.slice(0, 3), rows.slice(3)];
        const isIncomplete = random.chance(0.2);
        if (random.chance(0.3)) {
          await expect(night(database, { pages, isIncomplete, failsAt: 1 })).rejects.toThrow('The API is gone.');
        }
        await night(database, { pages, isIncomplete, restart: random.chance(0.1) });
        for (const [id, row] of listed) live.set(id, row);
        const missing = [...live.keys()].filter((id) => !listed.has(id));
        if (!isIncomplete) for (const id of missing) if (lacked.has(id)) live.delete(id);
        lacked = new Set(isIncomplete ? [...lacked].filter((id) => !listed.has(id)) : missing);
        told.push(inShort(live.values()));
      }
      const found = await database.query('SELECT id, name, _valid_from, _valid_to FROM items');
      const polls = await database.query('SELECT at FROM items_polls ORDER BY generation');
      const seen = polls.map(({ at }) => {
        const isThen = (row: (typeof found)[number]): boolean =>
          msOf(row['_valid_from']) <= msOf(at) && (row['_valid_to'] === null || msOf(row['_valid_to']) > msOf(at));
        return inShort(found.filter(isThen).map(({ id, name }) => ({ id: Number(id), name: name ?? '' })));
      });
      expect(seen).toEqual(told);
    },
  );

  test('D9 a part that stays beyond maxRows ends nothing', async () => {
    const database = await open();
    const rows = [item(1, 'a'), item(2, 'b'), item(3, 'c')];
    const exportSome = (maxRows?: number) => {
      const source = createSource<Item>({
        name: 'items',
        identity: null,
        schema: { columns: ['id', 'name', 'amount'], key: ({ id }) => id },
        maxRows,
        fetch: () => Promise.resolve({ rows, next: 'end' }),
      });
      return exportTo(source, database.sink<Item>({ table: 'items', mode: 'history', key: ['id'] })).run();
    };
    await exportSome();
    for (let nth = 0; nth < 3; nth += 1) await exportSome(1);
    expect(await versions(database)).toEqual(['1 a 1', '2 b 1', '3 c 1']);
  });

  test('D9 dates a version by when its page was fetched, also if a later run ends the export', async () => {
    const database = await open();
    const clock = new WallClock();
    const pages = [[item(1, 'a')], [item(2, 'b')]];
    await expect(night(database, { pages, clock, failsAt: 1 })).rejects.toThrow('The API is gone.');
    expect(await database.query('SELECT count(*) AS rows FROM _sluice')).toHaveLength(1);
    clock.time += 86_400_000 / 2;
    await night(database, { pages, clock });
    const from = (await database.query('SELECT _valid_from FROM items ORDER BY id')).map((row) =>
      msOf(row['_valid_from']),
    );
    expect(from).toEqual([Date.UTC(2030, 0, 1, 0, 1), Date.UTC(2030, 0, 1, 12, 2)]);
    const [poll] = await database.query('SELECT at FROM items_polls');
    expect(msOf(poll?.['at'])).toBe(Date.UTC(2030, 0, 1, 12, 2));
    clock.time -= 2 * 86_400_000;
    await night(database, { pages: [[item(1, 'aa')]], clock });
    const [ended] = await database.query('SELECT _valid_from, _valid_to FROM items WHERE _valid_to IS NOT NULL');
    expect(msOf(ended?.['_valid_to'])).toBe(Date.UTC(2030, 0, 1, 12, 2, 0, 1));
  });

  test('D9 dates all versions of a page by when its response was there, however long the rows before it wait', async () => {
    const database = await open();
    const pages = [1, 2, 3, 4].map((nth) => [item(nth, 'a'), item(nth + 4, 'b')]);
    // Time passes whenever somebody looks at the clock.
    const clock = new (class extends WallClock {
      override now(): number {
        this.time += 1;
        return super.now();
      }
    })();
    const received: number[] = [];
    const source = createSource<Item>({
      name: 'items',
      identity: null,
      schema: { columns: ['id', 'name', 'amount'], types: { id: 'integer' }, key: ({ id }) => id },
      fetch({ at }) {
        const page = at && 'cursor' in at ? Number(at.cursor) : 0;
        clock.time += 60_000;
        received.push(clock.time);
        const next = page + 1 < pages.length ? { cursor: String(page + 1) } : ('end' as const);
        return Promise.resolve({ rows: pages[page] ?? [], next });
      },
    });
    await exportTo(source, database.sink<Item>({ table: 'items', mode: 'history', key: ['id'] }), { clock }).run();
    const found = await database.query('SELECT _valid_from FROM items ORDER BY (id - 1) % 4, id');
    const times = found.map(({ _valid_from: from }) => msOf(from) - Date.UTC(2030, 0, 1));
    for (const [page, began] of received.entries()) {
      const [one = 0, other] = times.slice(2 * page);
      expect(one).toBeGreaterThan(began);
      expect(one).toBeLessThan(received[page + 1] ?? Infinity);
      expect(other).toBe(one);
    }
  });

  test('D9 begun again, goes on: nothing is written that is as it was', async () => {
    const database = await open();
    await night(database, { pages: [[item(1, 'a'), item(2, 'b')]] });
    await night(database, { pages: [[item(1, 'aa'), item(2, 'b')]], restart: true });
    expect(await versions(database)).toEqual(['1 a 1 changed', '1 aa 2', '2 b 1']);
  });

  test(
    'D9 has a column for the key, and is neither a table of others nor one of a watch',
    { tags: ['slow'] },
    async () => {
      const database = await open();
      await exportTo(itemSource([[item(7, 'a')]]), database.sink<Item>({ table: 'keyed', mode: 'history' })).run();
      expect(await database.query('SELECT _key FROM keyed')).toEqual([{ _key: '#7' }]);
      await night(database, { pages: [[item(1, 'a')]] });
      const history = database.mirror<Item>({ table: 'items', mode: 'history', key: ['id'] });
      await expect(mirrored(new Items([]), history)).rejects.toThrow(/items has rows, and they are not this mirror's/);
      await mirrored(
        new Items([item(1, 'a')]),
        database.mirror<Item>({ table: 'watched', mode: 'history', key: ['id'] }),
      );
      const watched = database.sink<Item>({ table: 'watched', mode: 'history', key: ['id'] });
      await expect(exportTo(itemSource([[item(2, 'b')]]), watched, { restart: true }).run()).rejects.toThrow(
        /has rows, and they are not of this history/,
      );
      const clash = itemSource([[{ _ended: 'x' }]], {}, { columns: ['_ended'], key: () => 1 });
      const clashing = exportTo(clash, database.sink<{ _ended: string }>({ table: 'clash', mode: 'history' })).run();
      await expect(clashing).rejects.toThrow(ConfigError);
    },
  );
});
